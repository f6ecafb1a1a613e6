"""What a start finds in the data folder, and what it could not read."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from reference_broker.core.content import Content
from reference_broker.store.checksum import ChecksumKind
from reference_broker.store.liveness import Liveness
from reference_broker.store.segment import SegmentName


class RecoveredEntry:
    """A message that is still in a queue. ``content`` is shared by all queues that have it."""

    __slots__ = ("content", "expires_at_ms", "priority", "queue_id", "redelivered", "sequence")

    def __init__(
        self,
        queue_id: int,
        sequence: int,
        content: Content,
        redelivered: bool,
        expires_at_ms: int,
        priority: int,
    ) -> None:
        self.queue_id = queue_id
        self.sequence = sequence
        self.content = content
        self.redelivered = redelivered
        self.expires_at_ms = expires_at_ms
        self.priority = priority


@dataclass(slots=True)
class DamageReport:
    """What was lost, counted. Quarantined is what had been synced; cut is what had not."""

    quarantined_regions: int = 0
    quarantined_bytes: int = 0
    damaged_files: list[str] = field(default_factory=list)
    entries_without_body: int = 0
    """Moved messages whose body was in a damaged place."""
    entries_replaced: int = 0
    """Entries whose ack was in a damaged place, and whose sequence had been given again."""
    cut_bytes: int = 0
    """An unsynced tail, whole or torn. Nothing in it was ever promised."""

    @property
    def damaged(self) -> bool:
        """Was something lost that had been synced?"""
        return bool(self.damaged_files or self.entries_without_body or self.entries_replaced)

    def __str__(self) -> str:
        parts = []
        if self.damaged_files:
            parts.append(
                f"{self.quarantined_bytes} bytes in {self.quarantined_regions} places of "
                f"{', '.join(self.damaged_files)} can't be read and stay quarantined"
            )
        if self.entries_without_body:
            parts.append(f"{self.entries_without_body} moved messages lost their body")
        if self.entries_replaced:
            parts.append(f"{self.entries_replaced} messages were replaced by later ones")
        if self.cut_bytes:
            parts.append(f"{self.cut_bytes} bytes of unsynced tail were cut")
        return "; ".join(parts) or "nothing was lost"


@dataclass(slots=True)
class LastSegment:
    """The segment that was being written when the broker stopped."""

    name: SegmentName
    kept_bytes: int
    """How far it is trusted, from the start of the file."""
    complete: bool
    """It ends with CLOSED or SEALED."""
    checksum: ChecksumKind
    """What its records carry, also if the header is damaged."""


@dataclass(slots=True)
class RecoveredLog:
    """The state that the log describes, and the books to go on with."""

    definitions: dict[str, bytes]
    entries: dict[int, list[RecoveredEntry]]
    """Queue id -> its live entries, in order of sequence."""
    epoch: int
    """The one to start with: above every epoch that was ever used here."""
    tail: int
    """Where the log goes on."""
    redelivered_below: int
    clean: bool
    """The broker was stopped on purpose, and nothing is damaged. Otherwise every entry is marked
    redelivered, since nobody knows which of them were handed out."""
    damage: DamageReport
    liveness: Liveness
    last: LastSegment | None
    """``None`` for a new folder."""

    def retain(self, queue_ids: Container[int]) -> int:
        """Drop the entries of all other queues, and say how many; idempotent. Call it once, before
        the entries are used, with the queues that the definitions still know. Where something is
        damaged their segments are kept: it may be the definition that was lost."""
        dropped = 0
        for queue_id in [each for each in self.entries if each not in queue_ids]:
            orphans = self.entries.pop(queue_id)
            dropped += len(orphans)
            if not self.damage.damaged:
                for orphan in orphans:
                    self.liveness.settle(
                        orphan.content.position, queue_id, orphan.sequence, by=None
                    )
        return dropped
