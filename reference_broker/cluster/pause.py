"""The pause before something that failed is tried again: short at first, then longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from reference_broker.core.base.deadlines import Deadline

Timer: TypeAlias = Callable[[float, Callable[[], None]], Deadline]
"""Calls back after so many seconds (:meth:`~reference_broker.core.broker.Broker.after`)."""

FIRST_S = 0.1
"""An etcd whose leader is gone has another one after a second or two."""

LONGEST_S = 2.0
"""Nobody should wait longer than that for an etcd that is back."""


class Pause:
    """One pause at a time; each is twice as long as the one before, until :meth:`reset`."""

    __slots__ = ("_after", "_deadline", "_next_s")

    def __init__(self, after: Timer) -> None:
        self._after = after
        self._next_s = FIRST_S
        self._deadline: Deadline | None = None

    def begin(self, over: Callable[[], None]) -> None:
        """Call ``over`` when the pause is over. One that was going on is not, any more."""
        self.end()
        self._deadline = self._after(self._next_s, over)
        self._next_s = min(self._next_s * 2, LONGEST_S)

    def end(self) -> None:
        """Call nobody. Idempotent."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def reset(self) -> None:
        """It went well: the next pause is a short one."""
        self._next_s = FIRST_S
