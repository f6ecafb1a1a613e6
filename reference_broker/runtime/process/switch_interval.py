"""The interpreter's switch interval: how long a busy loop keeps other threads waiting.

The disk's thread asks for the interpreter after each write and sync, some 60 times for 8 MiB. A
short interval all the time makes the loop wait for it in the middle of its work: 57 us of processor
time a message instead of 39 where messages expire into a dead-letter exchange. With Python's 5 ms
the thread waits for the end of the turn, which is as good, until turn follows turn: it counts anew
from each call of the system that the loop makes in between, and then a batch of 2 MiB took 63 ms
and more. So the interval is short for as long as the thread is late, and no longer.
"""

from __future__ import annotations

import sys

SHORT_S = 0.0001
"""Less than what a busy loop does between two calls of the system."""


class SwitchInterval:
    """The interval that the process has when this is made, and a short one. It is the whole
    process's, so it is the decision of whoever owns that: a command, not a library."""

    def __init__(self) -> None:
        self._usual_s = sys.getswitchinterval()

    def give_way(self, wanted: bool) -> None:
        """Have the loop give way after :data:`SHORT_S` from now on; or as usual. Idempotent."""
        sys.setswitchinterval(SHORT_S if wanted else self._usual_s)
