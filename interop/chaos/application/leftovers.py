"""The state of this process that an app must leave as it found it: descriptors, tasks, threads."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import dataclass

GRACE_S = 0.1
"""For what the end of an app leaves to the next turns of the loop."""


@dataclass(frozen=True, slots=True)
class Possessions:
    """The descriptors (by number, with their targets), tasks and threads at one time."""

    descriptors: dict[int, str]
    tasks: frozenset[asyncio.Task[object]]
    threads: frozenset[threading.Thread]

    @classmethod
    def now(cls) -> Possessions:
        """Those of this process; call on the event loop."""
        return cls(
            _descriptors(),
            frozenset(asyncio.all_tasks()),
            frozenset(threading.enumerate()),
        )

    def left_since(self, before: Possessions) -> dict[str, list[str]]:
        """Everything that is here and was not before, in words."""
        descriptors = self.descriptors.items() - before.descriptors.items()
        return {
            "descriptors": sorted(f"{number} {target}" for number, target in descriptors),
            "tasks": sorted(repr(task) for task in self.tasks - before.tasks),
            "threads": sorted(thread.name for thread in self.threads - before.threads),
        }


def _descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the listing's own
            continue
    return found
