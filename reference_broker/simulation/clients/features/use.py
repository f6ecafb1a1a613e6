"""The use of a queue with ``x-expires``, as its client knows it, and the laws of its end.

- It is not gone before its time, counted from its last use, or from the broker's start.
- It is not there much later than that.
- When its end is on disk, no start brings it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LATE_MS = 5_000
"""Milliseconds after its time in which the queue may still be there: a broker of tiny turns goes
through all else that is due first."""


@dataclass(slots=True)
class Use:
    """One queue, over all lives of the broker. Times are the wall clock's, in milliseconds. What is
    wrong is returned, and nothing where all is well."""

    expires_ms: int
    durable: bool
    off_ms: Callable[[], int] = lambda: 0
    """Milliseconds by which its end may be early."""
    surely_ms: int | None = None
    """It was used at that time, or later; ``None`` where it may be gone."""
    maybe_ms: int = 0
    """It was not used after that time."""
    kept: bool = False
    """Its declaration is on disk."""
    gone_at: int | None = None
    """The log's tail when it was seen to be gone, until it is declared again."""
    gone_for_good: bool = False

    def asked(self, now_ms: int) -> None:
        """A request that uses the queue, or makes it, is on its way, or may be."""
        self.maybe_ms = now_ms
        self.gone_at = None
        self.gone_for_good = False

    def used(self, since_ms: int, now_ms: int) -> None:
        """It was used between ``since_ms`` and ``now_ms``, and was there."""
        self.surely_ms = max(since_ms, self.surely_ms or 0)
        self.maybe_ms = now_ms

    def is_surely_there(self, now_ms: int) -> bool:
        if self.surely_ms is None:
            return False
        return now_ms < self.surely_ms + self.expires_ms - self.off_ms()

    def seen(self, now_ms: int, *, is_consumed: bool) -> str:
        """The queue is in the broker."""
        if is_consumed:
            self.used(now_ms, now_ms)
        self.gone_at = None
        self.gone_for_good = False
        late_ms = now_ms - self.maybe_ms - self.expires_ms
        return f"is there, and its time was over {late_ms} ms ago" if late_ms > LATE_MS else ""

    def seen_gone(self, now_ms: int, tail: int, synced: int, *, asked: bool) -> str:
        """The queue is not in the broker, whose log ends at ``tail``; ``asked`` where it may be
        made again at any time."""
        wrong = self._missing(now_ms)
        self.surely_ms = None
        self.kept = False
        if not asked:
            self.gone_at = tail if self.gone_at is None else self.gone_at
            self.gone_for_good = self.gone_for_good or synced >= self.gone_at
        return wrong

    def started(self, now_ms: int, *, there: bool) -> str:
        """The broker has started, and has found the queue, or has not. Its time begins anew."""
        wrong = ""
        if there and not self.durable:
            wrong = "is there after a start, and is not durable"
        elif there and self.gone_for_good:
            wrong = "is back after a start, and its end was on disk"
        elif not there and self.kept:
            wrong = self._missing(now_ms)
        self.kept = there
        self.surely_ms = now_ms if there else None
        self.maybe_ms = now_ms
        self.gone_at = None
        self.gone_for_good = False
        return wrong

    def _missing(self, now_ms: int) -> str:
        if not self.is_surely_there(now_ms):
            return ""
        early_ms = (self.surely_ms or 0) + self.expires_ms - now_ms
        return f"is gone {early_ms} ms before its time"
