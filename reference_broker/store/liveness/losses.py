"""Counts of messages, by queue, that a start couldn't read: at most, where nobody knows exactly.

A footer that lists a message whose record can't be read is exact. Without one, the sequences that
are missing around a gap are counted: from the last one that was seen of a queue before the gap to
the first one behind it, but no more than the gap has room for. What is acked later isn't lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.core.index.priority import EPOCH_SHIFT
from reference_broker.store.format.record import FRAME_BYTES, PUBLISH_ONE

LEAST_MESSAGE_BYTES = FRAME_BYTES + PUBLISH_ONE.size
"""No message takes less of the log."""

Level = tuple[int, int]
"""Queue id and level."""


class Losses:
    """Fed in log order. Costs nothing while nothing is damaged."""

    def __init__(self) -> None:
        self._missing: dict[int, list[tuple[int, int]]] = {}
        self._tails: dict[Level, int] | None = None
        self._gap_bytes = 0

    @property
    def watching(self) -> bool:
        """There is a gap, or something is missing: report what is found and acked from now on."""
        return self._tails is not None or bool(self._missing)

    def gap(self, size_bytes: int, tails: Mapping[Level, int]) -> None:
        """So many bytes can't be read; ``tails`` is behind the last sequence of each level."""
        self._gap_bytes = size_bytes if self._tails is None else self._gap_bytes + size_bytes
        self._tails = dict(tails)

    def end_of_run(self) -> None:
        """The next records were written by another run of the broker: they do not show how much was
        in a gap before."""
        self._tails = None

    def entered(self, level: Level, sequence: int) -> None:
        """The next entry of a level was found."""
        if self._tails is None:
            return
        run_start = sequence >> EPOCH_SHIFT << EPOCH_SHIFT
        room = self._gap_bytes // LEAST_MESSAGE_BYTES
        first = max(self._tails.get(level, 0), run_start, sequence - room)
        if first < sequence:
            self.missing(level[0], first, sequence - 1)
        self._tails[level] = sequence + 1

    def missing(self, queue_id: int, first: int, last: int) -> None:
        """Those messages were there and can't be read. Reported twice, they are lost once."""
        self.acked(queue_id, first, last)
        self._missing.setdefault(queue_id, []).append((first, last))

    def acked(self, queue_id: int, first: int, last: int) -> None:
        """Those messages needn't be read any more."""
        ranges = self._missing.pop(queue_id, [])
        left = [
            part
            for low, high in ranges
            for part in ((low, min(high, first - 1)), (max(low, last + 1), high))
            if part[0] <= part[1]
        ]
        if left:
            self._missing[queue_id] = left

    def counts(self) -> dict[int, int]:
        """Queue id -> messages, at most."""
        return {
            queue_id: sum(high - low + 1 for low, high in ranges)
            for queue_id, ranges in sorted(self._missing.items())
        }
