"""The law that a new broker would find the same messages in the same places of the queues; by the
footers of the log, and by its records alone.

Whether a message was handed out before is not compared: after a crash all of them count as that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_broker.simulation.events.events import Indexed
from reference_broker.simulation.watch.checkers.checker import Checker


class RebuildChecker(Checker):
    """Compares when everything that was logged is synced, and after a clean stop."""

    name = "rebuild"

    def compared(
        self,
        index: Mapping[str, Sequence[Indexed]],
        rebuilt: Mapping[str, Sequence[Indexed]],
        source: str,
    ) -> None:
        for queue in sorted({*index, *rebuilt}):
            ours, found = index.get(queue, ()), rebuilt.get(queue, ())
            if list(ours) != list(found):
                missing = [each for each in ours if each not in found]
                more = [each for each in found if each not in ours]
                raise self.fail(
                    f"'{queue}' has {len(ours)} logged messages and {len(found)} in a rebuild from "
                    f"{source}; only in the queue: {missing[:3]}; only in the rebuild: {more[:3]}"
                )
