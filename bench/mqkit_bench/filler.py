"""The filler: publishes a number of messages with a window of confirms, and notes the pace.

It waits for confirms only when the window is full, so the broker always has a batch to sync.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from mqkit_bench.confirm_counter import ConfirmCounter
from mqkit_bench.contestant import Contestant
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address, Session, receive_some

WINDOW_MESSAGES = 4_096
"""Unconfirmed publishes under way: a few batches of any broker measured here."""
MARK_MESSAGES = 1_000
TELL_S = 1.0
STALL_S = 60.0
"""No confirm for this long means that the broker won't take more: an alarm, or a fault."""
_PACE_POLL_MS = 5
_POLL_MS = 200


class Supply(Protocol):
    """Encoded messages, one after the other: a :class:`~mqkit_bench.ring.Ring`, or a file of
    them."""

    def bytes_before(self, message: int) -> int: ...
    def messages_before(self, place: int) -> int: ...
    def piece(self, place: int, end: int) -> memoryview: ...


class Stalled(ConnectionError):
    """The broker stopped confirming. The message has the counts."""


@dataclass(slots=True)
class Pace:
    """The course of a fill, as (confirmed messages, time): one mark about every thousand."""

    marks: list[tuple[int, float]] = field(default_factory=list)

    def note(self, confirmed: int) -> None:
        if not self.marks or confirmed >= self.marks[-1][0] + MARK_MESSAGES:
            self.marks.append((confirmed, time.perf_counter()))

    def end(self, confirmed: int) -> None:
        """The last mark, however near to the one before."""
        if self.marks[-1][0] != confirmed:
            self.marks.append((confirmed, time.perf_counter()))

    def rate(self, first: int, last: int) -> float:
        """Messages a second from the confirm of number ``first`` to that of ``last``."""
        start = [mark for mark in self.marks if mark[0] <= first][-1]
        stop = next(mark for mark in self.marks if mark[0] >= last)
        return (stop[0] - start[0]) / (stop[1] - start[1])

    def slowest(self, window: int) -> float:
        """The lowest rate over any ``window`` messages, by the marks."""
        rates: list[float] = []
        later = iter(self.marks)
        stop = next(later)
        for start in self.marks:
            while stop[0] < start[0] + window:
                following = next(later, None)
                if following is None:
                    return min(rates)
                stop = following
            rates.append((stop[0] - start[0]) / (stop[1] - start[1]))
        return min(rates)


class Filler:
    """Publishes the messages of ``ring`` in order, on a socket of :func:`publisher`. Close it."""

    def __init__(
        self, connection: socket.socket, ring: Supply, window: int = WINDOW_MESSAGES
    ) -> None:
        self._ring = ring
        self._window = window
        self._place = 0
        self._confirms = ConfirmCounter()
        self._progress = (0, time.perf_counter())
        self.socket = connection
        self.socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self.socket, select.POLLIN)
        self._writing = False

    @property
    def sent(self) -> int:
        return self._ring.messages_before(self._place)

    @property
    def confirmed(self) -> int:
        return self._confirms.confirmed

    def fill(self, messages: int, tell: Callable[[int], None]) -> Pace:
        """Publish until ``messages`` in all are confirmed; ``tell`` hears their count each second.

        Raises :exc:`Stalled`, and :exc:`ConnectionError` for a nack or a closed connection.
        """
        pace = Pace()
        pace.note(self.confirmed)
        told = time.perf_counter()
        while self.confirmed < messages:
            self.step(messages, _POLL_MS)
            pace.note(self.confirmed)
            if time.perf_counter() - told >= TELL_S:
                told = time.perf_counter()
                tell(self.confirmed)
        pace.end(self.confirmed)
        return pace

    def keep_pace(self, rate: float, going_on: Callable[[], bool]) -> None:
        """Publish ``rate`` messages a second while ``going_on()``; then wait for the confirms."""
        before, started = self.sent, time.perf_counter()
        while going_on():
            due = before + int((time.perf_counter() - started) * rate)
            self.step(due, _PACE_POLL_MS)
        # The message that is half sent has to be ended.
        last = self.sent + (self._ring.bytes_before(self.sent) < self._place)
        while self.confirmed < last:
            self.step(last, _POLL_MS)

    def close(self) -> None:
        self.socket.close()

    def step(self, messages: int, wait_ms: int) -> None:
        """Send what the window allows, of the first ``messages``; receive what there is."""
        end = self._ring.bytes_before(min(messages, self.confirmed + self._window))
        writing = self._place < end
        if writing != self._writing:
            self._writing = writing
            events = select.POLLIN | (select.POLLOUT if writing else 0)
            self._poll.modify(self.socket, events)
        for _, event in self._poll.poll(wait_ms):
            if event & ~select.POLLOUT:
                self._receive()
            if event & select.POLLOUT:
                self._send(end)
        self._check_progress(writing or self.sent > self.confirmed)

    def _check_progress(self, waiting: bool) -> None:
        now = time.perf_counter()
        confirmed, since = self._progress
        if not waiting or self.confirmed > confirmed:
            self._progress = (self.confirmed, now)
        elif now - since > STALL_S:
            raise Stalled(
                f"no confirm for {STALL_S:.0f} s: {self.sent:,} messages sent,"
                f" {self.confirmed:,} confirmed"
            )

    def _send(self, end: int) -> None:
        while self._place < end:
            try:
                self._place += self.socket.send(self._ring.piece(self._place, end))
            except BlockingIOError:
                return

    def _receive(self) -> None:
        self._confirms.feed(receive_some(self.socket))
        if self.confirmed > self.sent:
            raise ConnectionError(f"{self.confirmed} confirmed, but only {self.sent} sent")


def publisher(address: Address) -> socket.socket:
    """A connection whose first channel confirms what is published on it."""
    session = Session(address)
    session.confirms()
    return session.detach()


def fill(contestant: Contestant, ring: Ring, messages: int, tell: Callable[[int], None]) -> Pace:
    """Publish so many messages on a connection of their own. As :meth:`Filler.fill`; a stall says
    which alarms are on."""
    with closing(Filler(publisher(contestant.address), ring)) as filler:
        try:
            return filler.fill(messages, tell)
        except Stalled as why:
            alarms = ", ".join(contestant.alarms()) or "none"
            raise Stalled(f"{contestant.name}: {why}; alarms: {alarms}") from None
