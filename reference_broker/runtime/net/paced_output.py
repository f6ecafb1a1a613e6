"""Output of one socket, handed to its transport a portion at a time.

    connection.output --> write --> unsent --portions, until the transport says pause--> transport
                                      ^------------- resume: go on --------------------------
                                      ^-- go_on: in the next turn, while it says nothing ----

A transport keeps what the socket does not take at once, each in its own way: asyncio's selector
loop copies it into a buffer (and its ``writelines`` joins everything first, before Python 3.12; in
3.12 it never says pause), uvloop holds on to what it was given. So a large message is never handed
over as a whole. What waits here are pieces of the body that the queues hold, which any number of
consumers share; what the transport has is bounded by its high-water mark and one portion.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from reference_broker.core.base.limits import DELIVERY_OUTPUT_BYTES_MAX
from reference_broker.core.message.content_frames import Piece

PORTION_BYTES = 262_144
"""Bytes that are joined for one write: they stay in the CPU's cache, and their memory is used again
and again. So a message of 64 MiB costs less than half of the CPU that joining it whole does, and
two thirds of a write for each piece; larger portions cost the same."""

JOINED_BYTES_MAX = 2 * DELIVERY_OUTPUT_BYTES_MAX
"""An output up to this is joined for one write, as all output of small messages is: deliveries end
above half of it. What is larger has a large message in it, or very many answers."""


PORTIONS_PER_TURN = 16
"""Portions after which the others have their turn, 4 MiB: a peer on the same machine may read as
quickly as they are written, and then no transport says pause."""


class PacedOutput:
    """The output of one connection, in order. ``later`` has :meth:`go_on` called in the next turn
    of the loop."""

    __slots__ = ("_goes_on", "_later", "_paused", "_transport", "_unsent")

    def __init__(self, transport: asyncio.WriteTransport, later: Callable[[], None]) -> None:
        self._transport = transport
        self._later = later
        self._goes_on = False
        """``later`` was called, and :meth:`go_on` was not."""
        self._unsent: deque[Piece] = deque()
        self._paused = False

    @property
    def takes_more(self) -> bool:
        """False while anything waits here or the transport is paused: leave output to the
        connection, which holds back deliveries and requests."""
        return not (self._paused or self._unsent)

    @property
    def is_empty(self) -> bool:
        """True when the transport has everything: it may be closed."""
        return not self._unsent

    def write(self, pieces: list[Piece], size: int) -> None:
        """Send ``pieces``, of ``size`` bytes together, after what waits already. Look at
        ``takes_more`` before, but for a connection's last words, and afterwards."""
        if size <= JOINED_BYTES_MAX and not self._unsent:
            self._transport.write(b"".join(pieces))
        else:
            self._unsent.extend(pieces)
            self._go_on()

    def pause(self) -> None:
        """Hand over nothing until :meth:`resume`: the transport's buffer is full."""
        self._paused = True

    def resume(self) -> None:
        """Go on: the transport takes more again. ``takes_more`` says whether that was all."""
        self._paused = False
        self._go_on()

    def go_on(self) -> None:
        """A turn has begun: go on. ``takes_more`` says whether that was all."""
        self._goes_on = False
        self._go_on()

    def clear(self) -> None:
        """Let go of the unsent output: the socket is gone."""
        self._unsent.clear()

    def _go_on(self) -> None:
        """Hand portions over until the transport is paused, or has its share of the turn. One that
        is closing, for an error perhaps, would drop them, and complain."""
        left = PORTIONS_PER_TURN
        while self._unsent and not (self._paused or self._transport.is_closing()):
            if not left:
                if not self._goes_on:
                    self._goes_on = True
                    self._later()
                return
            left -= 1
            self._transport.write(b"".join(self._portion()))

    def _portion(self) -> list[Piece]:
        """Take the next pieces, ``PORTION_BYTES`` of them or all that is left; the last is cut."""
        unsent = self._unsent
        portion = []
        room = PORTION_BYTES
        while unsent and room:
            piece = unsent.popleft()
            if len(piece) > room:
                whole = memoryview(piece)
                unsent.appendleft(whole[room:])
                piece = whole[:room]
            portion.append(piece)
            room -= len(piece)
        return portion
