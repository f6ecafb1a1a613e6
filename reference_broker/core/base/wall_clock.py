"""The wall clock of one process: it begins as the system's, runs with the monotonic clock, and
follows the system's afterwards by a hundredth of the time that passes.

Deadlines of TTLs and delays are times of the wall clock, since they outlive the process. A system
clock that is set an hour ahead, by hand or by a time server, would end every one of them that is
due within the hour, at once; set back, none would come for an hour. So a step of the system's clock
changes no duration by more than 1 % while the process lives, as in RabbitMQ (Erlang's "no time
warp" mode: https://www.erlang.org/doc/apps/erts/time_correction). A new process begins with the
system's time.
"""

from __future__ import annotations

from collections.abc import Callable

FOLLOWS = 0.01
"""Most of the time that passes by which the clock is set right: a second of difference is gone
after 100 seconds."""

LOOK_S = 1.0
"""Seconds between two looks at the system's clock."""

STEP_MS = 1_000
"""A difference to the system's clock, in milliseconds, that somebody should know of."""


class WallClock:
    """Milliseconds since 1970, which never go back. ``system_us`` reads the system's clock, in
    microseconds. ``stepped`` is told by how many milliseconds that is ahead (or behind, below 0),
    each time that these have grown beyond :data:`STEP_MS`."""

    __slots__ = (
        "_ahead_us", "_is_astray", "_looked_s", "_offset_us", "_stepped", "_system_us",
    )  # fmt: skip

    def __init__(
        self,
        mono_s: float,
        system_us: Callable[[], int],
        stepped: Callable[[int], None] = lambda ahead_ms: None,
    ) -> None:
        self._system_us = system_us
        self._stepped = stepped
        self._offset_us = system_us() - _microseconds(mono_s)
        self._ahead_us = 0
        self._looked_s = mono_s
        self._is_astray = False

    def at(self, mono_s: float) -> int:
        """The time at ``mono_s`` seconds of the monotonic clock; to be asked in their order."""
        if mono_s >= self._looked_s + LOOK_S:
            self._look(mono_s)
        now_us = _microseconds(mono_s) + self._offset_us
        if self._ahead_us:
            now_us += self._followed_us(mono_s)
        return now_us // 1000

    def _followed_us(self, mono_s: float) -> int:
        """The part of the difference that the last look found which is gone by now."""
        most_us = int(_microseconds(mono_s - self._looked_s) * FOLLOWS)
        return max(-most_us, min(most_us, self._ahead_us))

    def _look(self, mono_s: float) -> None:
        self._offset_us += self._followed_us(mono_s)
        self._looked_s = mono_s
        ahead_us = self._ahead_us = self._system_us() - _microseconds(mono_s) - self._offset_us
        was_astray, self._is_astray = self._is_astray, abs(ahead_us) > STEP_MS * 1000
        if self._is_astray and not was_astray:
            self._stepped(ahead_us // 1000)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
