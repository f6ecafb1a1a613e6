"""Sockets that are gone, and whose connections have still to be ended: some in each turn of the
loop, as thousands may go at once (a load balancer that stops, a network that is cut)."""

from __future__ import annotations

from collections import deque
from typing import Protocol

ENDS_PER_TURN = 64
"""Connections that are ended in a turn: some 30 us each."""


class LostSocket(Protocol):
    """A socket that is gone."""

    def end(self) -> None:
        """Tell its connection."""


class LostSockets:
    """Those that wait for a turn, in the order in which they went. True while there are any."""

    def __init__(self) -> None:
        self._waiting: deque[LostSocket] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, socket: LostSocket) -> None:
        """``socket`` is gone: its :meth:`LostSocket.end` is called in one of the next turns."""
        self._waiting.append(socket)

    def end_some(self) -> None:
        """End as many as a turn has time for."""
        for _ in range(min(len(self._waiting), ENDS_PER_TURN)):
            self._waiting.popleft().end()
