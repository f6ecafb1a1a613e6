"""The meter: time, CPU and memory of a client's process while it carries a load."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one round. ``cpu_s`` is user and system time of the whole process,
    ``peak_rss_mib`` the most memory it ever had."""

    messages: int
    seconds: float
    cpu_s: float
    peak_rss_mib: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds per message."""
        return 1e6 * self.cpu_s / self.messages


class Meter:
    """The clocks of one round: begin it once, end it once."""

    def __init__(self) -> None:
        gc.collect()  # what other rounds left is not this one's work
        self._began: tuple[float, float] | None = None
        self._ended: tuple[float, float] | None = None

    def begin(self) -> None:
        self._began = _now()

    def end(self) -> None:
        self._ended = _now()

    def measured(self, messages: int) -> Measured:
        """Time and memory that ``messages`` took. Raises :exc:`RuntimeError` when the meter was not
        begun and ended."""
        if self._began is None or self._ended is None:
            raise RuntimeError("the meter was not begun and ended")
        seconds, cpu_s = (end - begin for begin, end in zip(self._began, self._ended, strict=True))
        return Measured(messages, seconds, cpu_s, _peak_rss_mib())


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _peak_rss_mib() -> float:
    # Not ru_maxrss: after fork and exec that still knows the parent's size.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM")
