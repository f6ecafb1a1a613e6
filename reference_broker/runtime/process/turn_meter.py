"""The length of the loop's turns: the longest one since the broker is ready, and what it was.

A turn is from its first input to the end of its flush. What is measured is the processor time of
the loop's thread: on a busy machine the clock on the wall says how long others had the processor. A
turn above :data:`LONG_TURN_MS` is a defect of the broker, and is logged with its cause.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LONG_TURN_MS = 50.0
"""Milliseconds of a turn that is worth a line in the log."""

_NS_PER_MS = 1_000_000


class TurnMeter:
    """Meters turns. ``report`` is called with the line about a long one; whoever logs it sees to it
    that there is one a minute at most. ``clock_ns`` gives nanoseconds of the thread."""

    __slots__ = (
        "_began_ns", "_cause", "_clock_ns", "_heaviest", "_heaviest_ns", "_input_ns", "_report",
        "longest_cause", "longest_ms", "turns",
    )  # fmt: skip

    def __init__(
        self, report: Callable[[str], None], clock_ns: Callable[[], int] = time.thread_time_ns
    ) -> None:
        self._report = report
        self._clock_ns = clock_ns
        self._began_ns = -1
        self._input_ns = 0
        self._cause = self._heaviest = ""
        self._heaviest_ns = 0
        self.longest_ms = 0.0
        self.longest_cause = ""
        self.turns = 0

    def input(self, cause: str) -> None:
        """An input begins, and with the first one a turn. ``cause`` says what it is."""
        now_ns = self._clock_ns()
        if self._began_ns < 0:
            self._began_ns = now_ns
        else:
            self._note(now_ns)
        self._cause = cause
        self._input_ns = now_ns

    def begin_anew(self) -> None:
        """Forget what was: before the listeners are open a turn keeps nobody waiting."""
        self._began_ns = -1
        self._heaviest, self._heaviest_ns = "", 0
        self.longest_ms, self.longest_cause = 0.0, ""

    def end(self) -> float:
        """The turn is over: the milliseconds that it took. 0 when none has begun."""
        if self._began_ns < 0:
            return 0.0
        now_ns = self._clock_ns()
        self._note(now_ns)
        taken_ms = (now_ns - self._began_ns) / _NS_PER_MS
        self.turns += 1
        if taken_ms > self.longest_ms:
            self.longest_ms, self.longest_cause = taken_ms, self._heaviest
        if taken_ms > LONG_TURN_MS:
            self._report(f"a turn of the loop took {taken_ms:.0f} ms, mostly for {self._heaviest}")
        self._began_ns = -1
        self._heaviest, self._heaviest_ns = "", 0
        return taken_ms

    def _note(self, now_ns: int) -> None:
        taken_ns = now_ns - self._input_ns
        if taken_ns >= self._heaviest_ns:
            self._heaviest, self._heaviest_ns = self._cause, taken_ns
