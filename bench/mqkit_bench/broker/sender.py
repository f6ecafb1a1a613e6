"""The sender: writes a ring's messages to one connection whenever its owner's loop says so."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from mqkit_bench.confirm_counter import ConfirmCounter
from mqkit_bench.ring import Ring
from mqkit_bench.session import receive_some


class Sender:
    """Counts what it has sent, and what was confirmed. The caller closes it.

    ``blocked`` says that the socket took no more: call :meth:`resume` when it is writable.
    """

    def __init__(self, connection: socket.socket, ring: Ring) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.blocked = False
        self._ring = ring
        self._place = self._end = 0
        self._confirms = ConfirmCounter()

    @property
    def confirmed(self) -> int:
        return self._confirms.confirmed

    @property
    def sent(self) -> int:
        """Messages that are sent, or begun: a message that was begun is always ended."""
        return self._ring.messages_before(self._end)

    @property
    def is_idle(self) -> bool:
        """True when all offered messages are written."""
        return self._place == self._end

    def offer(self, messages: int) -> None:
        """Write so many more."""
        self._end = self._ring.bytes_before(self.sent + messages)
        self.resume()

    def take_back(self) -> None:
        """Withdraw the offered messages but for the one that is begun."""
        begun = self._ring.messages_before(self._place)
        self._end = self._ring.bytes_before(begun + (self._ring.bytes_before(begun) < self._place))

    def resume(self) -> None:
        self.blocked = False
        while self._place < self._end:
            try:
                self._place += self.socket.send(self._ring.piece(self._place, self._end))
            except BlockingIOError:
                self.blocked = True
                return

    def receive(self) -> None:
        """Call when the socket is readable. Raises :exc:`ConnectionError` for anything but
        confirms of what was sent."""
        self._confirms.feed(receive_some(self.socket))
        if self.confirmed > self.sent:
            raise ConnectionError(f"{self.confirmed:,} confirmed, but only {self.sent:,} sent")

    def close(self) -> None:
        self.socket.close()


class TimedSender(Sender):
    """Notes the time of each write and each confirm, from which each message's wait follows."""

    def __init__(self, connection: socket.socket, ring: Ring) -> None:
        super().__init__(connection, ring)
        self._offered: list[tuple[int, float]] = []
        self._arrived: list[tuple[int, float]] = []
        self._timed = 0

    def offer(self, messages: int) -> None:
        now = time.perf_counter()
        super().offer(messages)
        self._offered.append((self.sent, now))

    def receive(self) -> None:
        super().receive()
        self._arrived.append((self.confirmed, time.perf_counter()))

    def waits(self) -> list[tuple[float, int]]:
        """Seconds, each with for how many messages, since the last call. All are confirmed."""
        found = []
        offers = iter(self._offered)
        sent, sent_at = next(offers, (0, 0.0))
        for confirmed, at in self._arrived:
            while self._timed < confirmed:
                while sent <= self._timed:
                    sent, sent_at = next(offers)
                together = min(confirmed, sent) - self._timed
                found.append((at - sent_at, together))
                self._timed += together
        self._offered.clear()
        self._arrived.clear()
        return found


def middle(waits: Iterable[tuple[float, int]]) -> float:
    """The median over all messages. Raises ``IndexError`` where there are none."""
    ordered = sorted(waits)
    half = sum(messages for _, messages in ordered) / 2
    for wait, messages in ordered:
        half -= messages
        if half <= 0:
            return wait
    raise IndexError("no message was confirmed")
