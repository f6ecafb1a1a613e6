"""Settings of the garbage collector, which still collects cycles."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, weakref
from reference_broker.runtime.process.collector import (
    YOUNG_OBJECTS, leave_messages_to_their_reference_counts
)

class Closed:
    def __init__(self):
        self.transport = [self]

leave_messages_to_their_reference_counts()
leave_messages_to_their_reference_counts()
assert gc.get_freeze_count() > 1_000
looked = []
gc.callbacks.append(lambda phase, info: looked.append(phase))
messages = [[] for _ in range(YOUNG_OBJECTS // 2)]
assert not looked, "as many messages as a few reads have are not looked through"
closed = weakref.ref(Closed())
messages += [[] for _ in range(YOUNG_OBJECTS)]
assert closed() is None, "what refers to itself goes"
print("ok")
"""


def test_messages_are_not_looked_through_and_cycles_go() -> None:
    """In a process of its own: the setting is for good."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "ok\n"
