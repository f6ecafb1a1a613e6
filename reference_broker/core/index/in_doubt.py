"""Messages in doubt: they were in a queue when the broker stopped uncleanly, and nobody knows
whether they had left it before.

A dead letter, a delayed message and one that is moved are handed out in their next queue before the
move is synced, and a crash undoes a move that is not. The law: what leaves a queue in doubt arrives
marked ``redelivered``, and is in doubt there, for it may have gone on from there as well.

In doubt is what the log has below ``redelivered_below``, which was there at an unclean stop. And in
each queue, what arrived in doubt later; after a clean stop, what has the mark by then, which a
client may have given back: that may be a mark too many, never one too few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.index.sequence_ranges import SequenceRanges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.journal.journal import Journal

_END = 1 << 63
"""Above all positions."""


class ArrivedInDoubt:
    """The entries of one queue that arrived in doubt."""

    __slots__ = ("_levels",)

    def __init__(self) -> None:
        self._levels: dict[int, SequenceRanges] = {}

    def __contains__(self, sequence: int) -> bool:
        ranges = self._levels.get(sequence >> LEVEL_SHIFT)
        return ranges is not None and sequence in ranges

    @classmethod
    def restored(
        cls, queue_id: int, indexes: Iterable[QueueIndex], journal: Journal
    ) -> ArrivedInDoubt | None:
        """Recovery: what may have arrived in doubt in a queue before a clean stop."""
        below = journal.redelivered_below
        if not below:
            return None  # no stop was unclean
        found = None
        for index in indexes:
            for columns in index.live_columns(queue_id, below, _END):
                place = columns.states.find(EntryState.REDELIVERED)
                while place >= 0:
                    found = found or cls()
                    found._add(columns.sequences[place])
                    place = columns.states.find(EntryState.REDELIVERED, place + 1)
        return found

    def mark(self, queue_id: int, index: QueueIndex, journal: Journal) -> None:
        """The message that was appended last to ``index`` arrived in doubt."""
        sequence = index.tail - 1
        index.mark_redelivered(sequence)
        position = index.entry(sequence).position
        if position >= 0:
            journal.requeue(queue_id, sequence, position)
        self._add(sequence)

    def _add(self, sequence: int) -> None:
        level = sequence >> LEVEL_SHIFT
        ranges = self._levels.get(level)
        if ranges is None:
            ranges = self._levels[level] = SequenceRanges()
        ranges.add(sequence)
