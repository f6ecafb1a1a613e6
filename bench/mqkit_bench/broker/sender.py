"""The sender: writes a ring's messages to one connection whenever its owner's loop says so."""

from __future__ import annotations

import socket

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
