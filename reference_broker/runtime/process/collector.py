"""The process's garbage collector, set so that it looks through few objects at a time.

CPython walks through its youngest objects whenever 700 more were made than freed. In a broker these
are messages and deliveries, which go by their reference counts; a backlog that is read or filled in
makes them by the thousand. Looking through them was 0.9 us of a message's 12 us in a drain.

What outlives two looks is in the oldest generation, and a look through that is a turn of the loop
in which nobody is served: 116 ms with 960,000 unacked deliveries. So when that has grown, it is
frozen: set apart and not looked through any more, which costs the same for however many. Objects of
the broker don't need the collector: what ends is freed by its reference count. Garbage of others
among the frozen ones, which refers to itself, goes at a moment at which nobody is connected.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from reference_broker.runtime.process.timers import CallLater, Timer

YOUNG_OBJECTS = 10_000
"""Objects to be made before the collector looks: more than the messages of a few reads, while what
it is there for (what an HTTP request leaves behind, whose parts refer to each other) still goes in
time."""

COLLECTIONS_OF_YOUNGER = 2
"""Collections of one generation before the next older one is looked through, too. CPython has 10;
then the second generation would have 110,000 objects, and a look take 13 to 26 ms."""

OLDEST_OBJECTS_MAX = 15_000
"""Objects in the oldest generation above which it is frozen: a look through it and the two younger
ones takes 6 to 12 ms at most."""

LOOK_INTERVAL_S = 60.0
"""Seconds between two looks at whether nobody is connected."""

BLOCKS_MAX = 1_000_000
"""Blocks of memory in use with which everything is looked through at such a moment: some 100 ms. A
broker that keeps more, a hundred thousand queues without a connection, never has such a moment."""

_OLDEST = 2
_MILLISECOND_NS = 1_000_000


class Collector:
    """The garbage collector from now on, until :meth:`close`. It is the whole process's, so it is
    the decision of whoever owns that: a command, not a library.

    ``collections`` counts by generation, youngest first; ``longest_ms`` is the longest of each so
    far, and ``frozen`` how often the oldest was frozen. What is there when this is made is not
    looked through any more.
    """

    def __init__(self, *, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock_ns = clock_ns
        self._began_ns = 0
        self.collections = [0, 0, 0]
        self.longest_ms = [0.0, 0.0, 0.0]
        self.frozen = 0
        self._timer: Timer | None = None
        gc.collect()
        gc.freeze()
        self._thresholds = gc.get_threshold()
        gc.set_threshold(YOUNG_OBJECTS, COLLECTIONS_OF_YOUNGER, COLLECTIONS_OF_YOUNGER)
        gc.callbacks.append(self._note)

    def close(self) -> None:
        """Leave the collector as it was. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._note in gc.callbacks:
            gc.callbacks.remove(self._note)
            gc.set_threshold(*self._thresholds)
            gc.unfreeze()

    def collect_when_idle(self, call_later: CallLater, is_idle: Callable[[], bool]) -> None:
        """Look through everything once a minute, when something was frozen since, and ``is_idle``:
        nobody waits."""

        def look() -> None:
            self._timer = call_later(LOOK_INTERVAL_S, look)
            if self.frozen and is_idle() and sys.getallocatedblocks() <= BLOCKS_MAX:
                self.collect_frozen()

        self._timer = call_later(LOOK_INTERVAL_S, look)

    def collect_frozen(self) -> None:
        """Look through everything, the frozen objects too, and freeze what is left."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self.frozen = 0

    def _note(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector before and after each collection."""
        if phase == "start":
            self._began_ns = self._clock_ns()
            return
        generation = info["generation"]
        took_ms = (self._clock_ns() - self._began_ns) / _MILLISECOND_NS
        self.collections[generation] += 1
        self.longest_ms[generation] = max(self.longest_ms[generation], took_ms)
        if generation and len(gc.get_objects(generation=_OLDEST)) > OLDEST_OBJECTS_MAX:
            gc.freeze()
            self.frozen += 1
