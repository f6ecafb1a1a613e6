"""The settings of the garbage collector: it looks through few objects at a time, and still collects
what refers to itself."""

from __future__ import annotations

import subprocess
import sys

BEGINNING = """
import gc, weakref
from reference_broker.runtime.process.collector import (
    COLLECTIONS_OF_YOUNGER, LOOK_INTERVAL_S, OLDEST_OBJECTS_MAX, YOUNG_OBJECTS, Collector
)

class Closed:
    def __init__(self):
        self.transport = [self]

collector = Collector()
"""

YOUNG = """
assert gc.get_freeze_count() > 1_000
looked = []
gc.callbacks.append(lambda phase, info: looked.append(phase))
messages = [[] for _ in range(YOUNG_OBJECTS // 2)]
assert not looked, "as many messages as a few reads have are not looked through"
closed = weakref.ref(Closed())
messages += [[] for _ in range(YOUNG_OBJECTS)]
assert closed() is None, "what refers to itself goes"
assert collector.collections[0] == len(looked) // 2 > 0
collector.close()
collector.close()
assert gc.get_threshold() == (700, 10, 10) and gc.get_freeze_count() == 0
"""

OLD = """
walked = []
def note(phase, info):
    if phase == "start":
        counted = range(info["generation"] + 1)
        walked.append(sum(len(gc.get_objects(generation=each)) for each in counted))
gc.callbacks.append(note)
held = [[] for _ in range(600_000)]
most = OLDEST_OBJECTS_MAX + (COLLECTIONS_OF_YOUNGER + 2) * YOUNG_OBJECTS
assert 0 < max(walked) <= most, f"{max(walked)} objects were looked through at once"
assert sum(walked) < 3 * len(held), "each is looked through twice or so"
assert collector.frozen >= 5
assert min(collector.collections[:2]) > 0 and max(collector.longest_ms) > 0
"""

QUIET = """
timers = []
def call_later(delay_s, call):
    assert delay_s == LOOK_INTERVAL_S
    timers.append(call)
idle = False
collector.collect_when_idle(call_later, lambda: idle)
closed = Closed()
held = [[] for _ in range(200_000)]
assert collector.frozen
gone = weakref.ref(closed)
del closed, held
gc.collect()
assert gone() is not None, "it is frozen"
timers.pop()()
assert gone() is not None, "somebody is connected"
idle = True
timers.pop()()
assert gone() is None and collector.frozen == 0
timers.pop()()
assert len(timers) == 1
"""


def ran(program: str) -> str:
    """The output of the program, in a process of its own: the setting is the whole process's."""
    answer = subprocess.run(
        [sys.executable, "-c", BEGINNING + program + "print('ok')"],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout + answer.stderr


def test_messages_are_not_looked_through_and_cycles_go() -> None:
    assert ran(YOUNG) == "ok\n"


def test_no_collection_looks_through_many_objects() -> None:
    assert ran(OLD) == "ok\n"


def test_garbage_among_the_frozen_goes_when_nobody_is_connected() -> None:
    assert ran(QUIET) == "ok\n"
