"""The time that a sink waits while nothing moves: ``confirmTimeout`` for a broker that says
nothing, ``blockedTimeout`` for one that has blocked the connection."""

from __future__ import annotations

from collections.abc import Callable

from mqkit_spark.options import SinkOptions


class Patience:
    """Counts from the last :meth:`note_progress`. ``blocked_s`` is the seconds blocked so far."""

    def __init__(
        self,
        options: SinkOptions,
        monotonic_s: Callable[[], float],
        blocked_s: Callable[[], float],
    ) -> None:
        self._options = options
        self._monotonic_s = monotonic_s
        self._blocked_s = blocked_s
        self.note_progress()

    def note_progress(self) -> None:
        """Something has moved: begin again."""
        self._since_s = self._monotonic_s()
        self._blocked_since_s = self._blocked_s()

    def is_out(self) -> bool:
        """True when one of the two timeouts has passed."""
        blocked_s = self._blocked_s() - self._blocked_since_s
        silent_s = self._monotonic_s() - self._since_s - blocked_s
        options = self._options
        return silent_s > options.confirm_timeout_s or blocked_s > options.blocked_timeout_s

    def words(self, unconfirmed: int) -> str:
        """The reason for giving up."""
        blocked_s = self._blocked_s() - self._blocked_since_s
        return (
            f"{unconfirmed} messages are unconfirmed and nothing moves: waited"
            f" {self._monotonic_s() - self._since_s:.0f} s, for {blocked_s:.0f} s of which the"
            " broker had blocked the connection (confirmTimeout, blockedTimeout)"
        )
