"""A log as a start found it in the data folder, and the damage in it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.footer import Ranges
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentUse

_EVERYWHERE = 1 << 63

PLACES_MAX = 8
"""Damaged places that a report names; ``mqkit broker store check`` names all."""


class Part(StrEnum):
    """The parts of a segment that can be damaged."""

    HEADER = "the header"
    RECORDS = "records"
    FOOTER = "the footer or the trailer"


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """Bytes that can't be read. ``position`` is the log's; in a segment that was never rewritten
    the offset in the file is that less the number that the file is named by."""

    file: str
    position: int
    size_bytes: int
    part: Part

    def __str__(self) -> str:
        place = f"{self.part} at position {self.position:016x}"
        return f"{self.size_bytes} bytes of {self.file} ({place})"


@dataclass(slots=True)
class DamageReport:
    """Losses, counted. Quarantined bytes had been synced; those that were cut had not."""

    quarantined_regions: int = 0
    quarantined_bytes: int = 0
    places: list[DamagedPlace] = field(default_factory=list)
    """The first quarantined regions, :data:`PLACES_MAX` at most."""
    damaged_files: list[str] = field(default_factory=list)
    missing_segments: list[int] = field(default_factory=list)
    """Bases of segments that should be there."""
    lost: dict[int, int] = field(default_factory=dict)
    """Queue id -> messages that can't be read, at most."""
    misplaced: int = 0
    """Messages left out because a later one of their queue stood before them."""
    cut_bytes: int = 0
    """An unsynced tail, whole or torn. Nothing in it was ever promised."""

    @property
    def damaged(self) -> bool:
        """Something was lost that had been synced."""
        return bool(self.damaged_files or self.missing_segments or self.misplaced)

    def __str__(self) -> str:
        parts = []
        if self.damaged_files:
            parts.append(
                f"{self.quarantined_bytes} bytes in {self.quarantined_regions} places of "
                f"{', '.join(self.damaged_files)} can't be read and stay quarantined"
            )
        if self.places:
            named = ", ".join(map(str, self.places))
            more = self.quarantined_regions - len(self.places)
            parts.append(f"damaged: {named}" + (f", and {more} more" if more else ""))
        if self.missing_segments:
            bases = ", ".join(f"{base:016x}" for base in self.missing_segments)
            parts.append(
                f"{len(self.missing_segments)} segments are missing from the folder (at {bases}): "
                "nobody knows how many messages were in them"
            )
        if self.lost:
            parts.append(
                f"at most {sum(self.lost.values())} messages of {len(self.lost)} queues are lost"
            )
        if self.misplaced:
            parts.append(f"{self.misplaced} messages stand where they can't be and were left out")
        if self.cut_bytes:
            parts.append(f"{self.cut_bytes} bytes of unsynced tail were cut")
        return "; ".join(parts) or "nothing was lost"


@dataclass(slots=True)
class LastSegment:
    """The segment that was being written when the broker stopped, and all that a footer of it
    needs, besides the entries."""

    name: SegmentName
    kept_bytes: int
    """The part that is trusted, from the start of the file."""
    complete: bool
    """It ends with CLOSED or SEALED."""
    checksum: ChecksumKind
    """The checksum of its records, known also if the header is damaged."""
    notes: list[int] = field(default_factory=list)
    foreign_ranges: dict[int, Ranges] = field(default_factory=dict)
    use: SegmentUse | None = None
    """Its books, which are open; ``None`` when nothing of it is kept."""


@dataclass(slots=True)
class RecoveredLog:
    """The state that the log describes, and the books to go on with. As long as the queues are
    here it is an :class:`~reference_broker.core.journal.journal.EntrySource`."""

    definitions: dict[str, bytes]
    queues: dict[int, dict[int, QueueIndex]]
    """Queue id -> level -> what is alive in it."""
    epoch: int
    """The one to start with: above every epoch that was ever used here."""
    tail: int
    """The log position of the next record."""
    redelivered_below: int
    stopped: bool
    """The broker was stopped on purpose."""
    clean: bool
    """It was, and nothing is damaged. Otherwise every entry is marked redelivered, since nobody
    knows which of them were handed out."""
    damage: DamageReport
    liveness: Liveness
    last: LastSegment | None
    """The segment whose end nobody completed; ``None`` after a clean stop, and for a new folder."""
    leftover: list[str]
    """Files that nothing needs: replaced segments, unfinished copies, the spare."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """See :class:`~reference_broker.core.journal.journal.EntrySource`."""
        for index in self.queues.get(queue_id, {}).values():
            yield from index.live_columns(queue_id, start, end)

    def retain(self, queue_ids: Container[int]) -> int:
        """Drop the entries of all other queues, and return how many; idempotent. Call it once,
        before the entries are used, with the queues that the definitions still know. Where
        something is damaged their segments are kept as they are, and they count as lost: it may be
        the definition that was lost."""
        dropped = 0
        for queue_id in [each for each in self.queues if each not in queue_ids]:
            before = dropped
            for columns in self.live_entries(queue_id, 0, _EVERYWHERE):
                dropped += len(columns.sequences)
                for position, stored in zip(columns.positions, columns.stored, strict=True):
                    if not self.damage.damaged:
                        self.liveness.settle(position, stored)
                    elif (use := self.liveness.find(position)) is not None:
                        use.damaged = True  # A rewriting would leave out what no queue has.
            if self.damage.damaged:
                lost = self.damage.lost
                lost[queue_id] = lost.get(queue_id, 0) + dropped - before
            del self.queues[queue_id]
        return dropped
