"""The clock that goes on while the machine sleeps."""

from __future__ import annotations

import time


def boot_clock() -> float:
    """Seconds since the start of the machine, its sleep included, where the system has that clock;
    a monotonic clock stands still while a virtual machine is stopped."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
