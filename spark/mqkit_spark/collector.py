"""Python's cyclic garbage collector, while messages are made by the thousand.

It runs each time that 700 more objects were made than went, and every so often goes through all
that is alive. The messages of a batch and of a window are that many objects, hold no cycles, and
are all gone a moment later: looking at them took as long as making and sending them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""Above what is alive at a time: three objects for each message of Spark's batch (10,000 rows) and
of the window (8,192). Garbage in cycles is bounded by it too."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """For the time of the block, the collector waits for :data:`OBJECTS` more. One that is switched
    off stays off."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
