"""The window of a channel of the pika adapter: its places, taken and given back by threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from mqkit.transport.window_size import WindowSize


class Window:
    """Thread-safe. Once closed, it has no places any more."""

    def __init__(self, size: WindowSize) -> None:
        self._size = size
        self._messages = 0
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def is_closed(self) -> bool:
        """True after :meth:`close`."""
        return self._closed

    def take(
        self, cost_bytes: int, *, deadline: float | None, before_waiting: Callable[[], None]
    ) -> bool:
        """Take one place, waiting for it until ``deadline`` (of ``time.monotonic``; ``None`` is
        for ever). False when there was none in time, or the window is closed.
        ``before_waiting`` is called, without the lock, before it waits."""
        with self._changed:
            if self._fits(cost_bytes):
                return self._taken(cost_bytes)
        before_waiting()
        with self._changed:
            while not self._fits(cost_bytes):
                left_s = None if deadline is None else deadline - time.monotonic()
                if self._closed or (left_s is not None and left_s <= 0):
                    return False
                self._changed.wait(left_s)
            return self._taken(cost_bytes)

    def give(self, messages: int, cost_bytes: int) -> None:
        """Give places back."""
        with self._changed:
            self._messages -= messages
            self._bytes -= cost_bytes
            self._changed.notify_all()

    def close(self) -> None:
        """Everybody who waits, or comes later, gets no place. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fits(self, cost_bytes: int) -> bool:
        if self._closed:
            return False
        if not self._messages:
            return True
        return self._messages < self._size.messages and self._bytes + cost_bytes <= self._size.bytes

    def _taken(self, cost_bytes: int) -> bool:
        self._messages += 1
        self._bytes += cost_bytes
        return True
