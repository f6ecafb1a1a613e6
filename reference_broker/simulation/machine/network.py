"""A network in memory: streams of bytes that are late, cut into pieces, stalled and lost.

What was sent on one stream arrives in order, if it does. What is on its way when a link is cut is
lost from some byte on, and each end learns of it by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.stamps import Part, Stamps

LATENCY_US = (100, 3_000)
SPLIT_CHANCE = 0.2
"""Chance that bytes sent in one piece arrive in several, cut anywhere."""

NOTICED_US = 20_000_000
"""Microseconds after which an end that doesn't read notices that the link is cut: nobody takes its
heartbeats."""

_PIECES_MAX = 4


class _Piece(NamedTuple):
    due_us: int
    data: bytes


class Stream:
    """One direction of a link. ``arrived`` is called with what has one stamp of each piece, and
    that stamp; ``ended`` at most once.

    ``waiting_bytes`` are on their way. Set ``moved`` to be told when some of them arrived.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        arrived: Callable[[bytes, int], None],
        ended: Callable[[], None],
    ) -> None:
        self.waiting_bytes = 0
        self.moved: Callable[[], None] | None = None
        self._clock = clock
        self._random = random
        self._arrived = arrived
        self._ended = ended
        self._pieces: deque[_Piece] = deque()
        self._stamps = Stamps()
        """Of all that is in the pieces."""
        self._last_us = 0
        self._ending = False
        self._closed = False
        self._held = False
        self._stalled_until_us = 0
        self._awake = False

    def send(self, data: bytes, parts: Sequence[Part] = ()) -> None:
        """Put ``data`` on its way; nowhere, once the stream was cut, finished or closed. ``parts``
        of it, all of it together, have stamps already; else it is stamped now."""
        if self._ending or self._closed:
            return
        for part in parts or [Part(len(data), self._clock.stamp())]:
            self._stamps.put(part)
        for piece in self._split(data):
            late_us = self._random.randint(*LATENCY_US)
            self._last_us = max(self._last_us, self._clock.now_us + late_us)
            self._pieces.append(_Piece(self._last_us, piece))
            self.waiting_bytes += len(piece)
        self._wake()

    def hold(self) -> None:
        """The receiver reads no more for now."""
        self._held = True

    def release(self) -> None:
        """The receiver reads again."""
        self._held = False
        self._wake()

    def stall(self, duration_us: int) -> None:
        """Nothing arrives for a while."""
        self._stalled_until_us = self._clock.now_us + duration_us
        self._wake()

    def finish(self) -> None:
        """The sender sends no more: everything arrives, then the end."""
        self._ending = True
        self._wake()

    def cut(self) -> None:
        """The link is cut: some of what is on its way arrives, then the end."""
        if self._ending or self._closed:
            return
        self._keep(self._random.randint(0, self.waiting_bytes))
        self.finish()
        self._clock.after(NOTICED_US, self._notice)

    def close(self) -> None:
        """The receiver is gone: nothing arrives any more, not even the end."""
        self._closed = True
        self._pieces.clear()
        self.waiting_bytes = 0

    def _notice(self) -> None:
        if self._held and not self._closed:
            self.close()
            self._ended()

    def _keep(self, size: int) -> None:
        """Lose all but the first ``size`` bytes of what is on its way."""
        pieces, self._pieces = self._pieces, deque()
        self.waiting_bytes = 0
        for piece in pieces:
            data = piece.data[: size - self.waiting_bytes]
            if data:
                self._pieces.append(piece._replace(data=data))
                self.waiting_bytes += len(data)

    def _split(self, data: bytes) -> list[bytes]:
        if len(data) < _PIECES_MAX or self._random.random() >= SPLIT_CHANCE:
            return [data]
        count = self._random.randint(2, _PIECES_MAX)
        cuts = sorted(self._random.sample(range(1, len(data)), count - 1))
        edges = [0, *cuts, len(data)]
        return [data[start:end] for start, end in pairwise(edges)]

    def _wake(self) -> None:
        """Have :meth:`_move` called when the next piece is due, unless it is already."""
        if self._awake or self._held or self._closed or not (self._pieces or self._ending):
            return
        self._awake = True
        due_us = max(self._pieces[0].due_us if self._pieces else 0, self._stalled_until_us)
        self._clock.after(due_us - self._clock.now_us, self._move)

    def _move(self) -> None:
        self._awake = False
        if self._held or self._closed:
            return
        if self._clock.now_us >= self._stalled_until_us:
            if self._pieces:
                data = self._pieces.popleft().data
                self.waiting_bytes -= len(data)
                self._arrive(data)
                if self.moved is not None:
                    self.moved()
            elif self._ending:
                self._closed = True
                self._ended()
        self._wake()

    def _arrive(self, data: bytes) -> None:
        """Hand over a piece, unless its receiver goes in the middle of it."""
        start = 0
        for size, stamp in self._stamps.take(len(data)):
            if self._closed:
                return
            self._arrived(data[start : start + size], stamp)
            start += size


class Link:
    """A connection between a client and the broker, once it was accepted."""

    def __init__(self, number: int, to_broker: Stream, to_client: Stream) -> None:
        self.number = number
        self.to_broker = to_broker
        self.to_client = to_client

    def cut(self) -> None:
        """Drop the link; both ends learn of it sooner or later."""
        self.to_broker.cut()
        self.to_client.cut()

    def broker_gone(self) -> None:
        """The broker's process ended: bytes that it had sent may still arrive."""
        self.to_broker.close()
        self.to_client.cut()

    def client_gone(self) -> None:
        """The client's process ended: bytes that it had sent may still arrive."""
        self.to_client.close()
        self.to_broker.cut()
