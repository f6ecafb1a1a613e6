"""Freed memory that malloc keeps, given back to the system at a quiet moment.

glibc gives back only what is free at the heap's end, and one small block that stays there holds all
before it. So a backlog that is gone is in the process's RSS for good, until somebody asks for it.

What is free is not counted (to ask malloc is a walk through all of it) but worked out: what the
process has grown by since it was last asked, without what the broker's accounts have grown by::

             backlog            consumed          trimmed
    own     50 -> 590 MiB         590                50
    held     0 -> 540               0                 0
    free          0               540                 0
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from reference_broker.core.base.limits import MIB
from reference_broker.runtime.process.timers import CallLater, Timer

LOOK_INTERVAL_S = 30.0
"""Seconds between two looks. A look is 20 us, and on a grown process a count of what is held, in
portions. A backlog that comes and goes more often finds its memory where it was, mostly."""

FREE_BYTES_MIN = 64 * MIB
"""Free memory that is worth a trim. A trim takes the loop 80 us for each MiB (300 where it is in
pieces of 16 KiB), and messages that need the memory anew cost 0.4 ms more for each MiB: the
kernel's pages."""

QUIET_CPU_RATIO = 0.5
"""Share of one processor since the last look that counts as quiet: a busier broker would pay for
both."""

_STATM = Path("/proc/self/statm")


def own_bytes() -> int:
    """Bytes that only this process has in memory: RSS without files. Linux only."""
    _, resident, shared, *_ = _STATM.read_bytes().split()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


class HeapTrimmer:
    """Looks at the process's memory from the time that it is made, until :meth:`close`.

    ``count_held`` calls back with what the broker's accounts say, sooner or later, and ``trim``
    gives back what is free.
    """

    def __init__(
        self,
        call_later: CallLater,
        count_held: Callable[[Callable[[int], None]], None],
        trim: Callable[[], None],
        *,
        own_bytes: Callable[[], int] = own_bytes,
        cpu_s: Callable[[], float] = time.process_time,
    ) -> None:
        self._call_later = call_later
        self._count_held = count_held
        self._trim = trim
        self._own_bytes = own_bytes
        self._cpu_s = cpu_s
        self._cpu_s_before = cpu_s()
        self._own_before = own_bytes()
        self._held_before = 0
        self._timer: Timer = call_later(LOOK_INTERVAL_S, self._look)
        count_held(self._begin)

    def close(self) -> None:
        """Look no more. Idempotent."""
        self._timer.cancel()

    def _begin(self, held: int) -> None:
        self._own_before = self._own_bytes()
        self._held_before = held

    def _look(self) -> None:
        self._timer = self._call_later(LOOK_INTERVAL_S, self._look)
        cpu_s = self._cpu_s()
        quiet = cpu_s - self._cpu_s_before < LOOK_INTERVAL_S * QUIET_CPU_RATIO
        self._cpu_s_before = cpu_s
        if quiet and self._free_at_most() >= FREE_BYTES_MIN:
            self._count_held(self._counted)

    def _free_at_most(self) -> int:
        return self._own_bytes() - self._own_before + self._held_before

    def _counted(self, held: int) -> None:
        free = self._free_at_most() - held
        if free >= FREE_BYTES_MIN:
            self._trim()
        if free >= FREE_BYTES_MIN or free < 0:  # below: accounts are higher than what is taken
            self._begin(held)
