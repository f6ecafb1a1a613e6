"""The tries of a full disk: blocked publishers send nothing, so nothing else may come that would
write to it."""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.runtime.process.timers import CallLater, Timer

DISK_FULL_RETRY_S = 1.0
"""Seconds between two tries."""


class DiskRetry:
    """Calls ``retry`` again and again, from :meth:`later` until ``is_short`` says that the broker
    waits for no room any more."""

    def __init__(
        self, call_later: CallLater, is_short: Callable[[], bool], retry: Callable[[], None]
    ) -> None:
        self._call_later = call_later
        self._is_short = is_short
        self._retry = retry
        self._timer: Timer | None = None
        self._closed = False

    def later(self) -> None:
        """Try in a while: the disk has become full, or low. Idempotent."""
        if self._timer is None and not self._closed:
            self._timer = self._call_later(DISK_FULL_RETRY_S, self._try)

    def close(self) -> None:
        """Try no more. Idempotent."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _try(self) -> None:
        self._timer = None
        if self._is_short():
            self._retry()
            self.later()
