"""Log lines that strangers cause: at most one a second, or a minute, whatever comes."""

from __future__ import annotations

from collections.abc import Callable

LINE_INTERVAL_S = 1.0
"""Seconds between two lines. A flood of sockets must not become a flood of lines, which fills the
disk."""


class PacedLog:
    """Writes log lines, and leaves out those that follow within ``interval_s``; the next line after
    that says how many there were. ``clock`` is monotonic seconds."""

    def __init__(
        self,
        write: Callable[[str], None],
        clock: Callable[[], float],
        interval_s: float = LINE_INTERVAL_S,
    ) -> None:
        self._write = write
        self._clock = clock
        self._interval_s = interval_s
        self._silent_until: float | None = None
        self._left_out = 0

    def line(self, text: str) -> None:
        """Write ``text``, or count it among those that are left out."""
        now = self._clock()
        if self._silent_until is not None and now < self._silent_until:
            self._left_out += 1
            return
        more = f" ({self._left_out} lines before it were left out)" if self._left_out else ""
        self._left_out = 0
        self._silent_until = now + self._interval_s
        self._write(text + more)
