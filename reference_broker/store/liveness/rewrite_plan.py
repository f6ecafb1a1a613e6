"""The plan of a rewriting and its result: values that go to its thread and come back.

``Log.begin_rewrite`` makes a plan, ``rewrite.build`` writes ``plan.name.copy_file`` by it and
syncs it, ``Log.finish_rewrite`` takes the result. Nothing of a plan changes meanwhile: entries that
are acked after it was made are acked by records that are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import ExtentTable, Origin, Place
from reference_broker.store.format.segment import SegmentName


@dataclass(slots=True, frozen=True)
class Source:
    """A segment and its place on disk, as they are at the moment. One that is to be rewritten is
    sealed and sound, and has a footer."""

    name: SegmentName
    checksum: ChecksumKind
    size_bytes: int
    """Of the file."""
    end: int
    """The log position behind it."""
    extents: ExtentTable | None
    """``None`` for a plain segment: a record's place is its position less the base."""

    def place(self, position: int) -> Place:
        """The place of the record at ``position``, which must be one of this segment's. Raises
        ``KeyError`` when a rewritten segment can't have it."""
        if self.extents is not None:
            return self.extents.place(position, self.name.file)
        return Place(self.name.file, position - self.name.base, self.name.seed, self.checksum)

    def origin(self, position: int) -> Origin:
        """The plain segment that the record was written to first: an extent's identity."""
        if self.extents is not None:
            return self.extents.origin_at(position)
        return Origin(self.name.base, self.name.epoch, self.checksum)


class Span(NamedTuple):
    """The log positions that a segment stands for; ``end`` is not included."""

    base: int
    end: int


@dataclass(slots=True, frozen=True)
class RewritePlan:
    """The plan of one rewriting: its sources, and the records that the new segment will have."""

    name: SegmentName
    """Of the new segment: a higher generation of the first source's."""
    end: int
    """The log position behind the last source."""
    sources: Sequence[Source]
    """In log order."""
    entries: Sequence[EntryColumns]
    """Entries that were alive in the sources when the plan was made; TAKEN counts as READY. No
    other message of them has to be copied."""
    referenced: tuple[Span, ...]
    """The other segments, in order, that the sources refer to: those acks and requeues, which the
    sources' footers have, are carried on. Those about the sources themselves and about segments
    that are not listed are not. A footer may know a segment that was merged by any base in it."""
    epoch: int
    """For the footer: none lower may be used again."""
    redelivered_below: int
    tail: int
    """``Log.tail`` when the plan was made: the new segment takes its place when this is synced."""
    checksum: ChecksumKind
    """For the frames of the new segment itself."""

    def carries(self, base: int) -> bool:
        """``True`` when acks and requeues about the segment of that base are carried on."""
        index = bisect_right(self.referenced, base, key=attrgetter("base")) - 1
        return index >= 0 and base < self.referenced[index].end

    def source_of(self, position: int) -> Source:
        """The source that has the record at ``position``, which must be in one of them."""
        return next(each for each in self.sources if each.name.base <= position < each.end)


@dataclass(slots=True, frozen=True)
class RewriteResult:
    """The new segment as it was written: synced, in a file still called ``name.copy_file``."""

    size_bytes: int
    extents: ExtentTable
    foreign: dict[int, int]
    """By base: bytes (:data:`RANGE_BYTES` for each range) of its ranges about that segment."""
