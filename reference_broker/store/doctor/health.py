"""The findings of an examination of a data folder: per file, per queue, and the verdict.

Nothing here decides anything; :mod:`reference_broker.store.doctor.examination` fills it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import SegmentName


class FileState(Enum):
    """The state of a segment's file."""

    OPEN = "open"
    """The newest one, without an end: it is in use, or was when the broker died."""
    SEALED = "sealed"
    CLOSED = "closed"
    """Sealed by a broker that stopped on purpose."""
    REWRITTEN = "rewritten"


class Fault(NamedTuple):
    """A place that isn't as it was written."""

    offset: int
    """In the file."""
    size_bytes: int
    position: int
    """The log position there, or that of the bytes that can't be had because of it."""
    what: str


@dataclass(slots=True)
class SegmentHealth:
    """One segment's file."""

    name: SegmentName
    size_bytes: int
    state: FileState
    records: Counter[RecordType] = field(default_factory=Counter)
    """The number of sound records of each type."""
    faults: list[Fault] = field(default_factory=list)
    torn_bytes: int = 0
    """The end that was never synced, of the newest segment only: that is no fault."""
    live_messages: int = 0
    live_bytes: int = 0
    """:attr:`Content.stored` of its live messages."""

    @property
    def sound(self) -> bool:
        return not self.faults


@dataclass(slots=True)
class QueueHealth:
    """One queue as the log has it."""

    queue_id: int
    vhost: str | None
    """``None``, as the name is, for a queue that no definition knows."""
    name: str | None
    messages: int = 0
    body_bytes: int = 0
    lost: int = 0
    """Messages that can't be had any more, at most."""


@dataclass(slots=True)
class Health:
    """The state of all of a folder's log."""

    segments: list[SegmentHealth]
    """In log order."""
    queues: list[QueueHealth]
    missing: list[int]
    """Bases of the segments that should be there and aren't."""
    quarantined: list[str]
    """Files that were put aside earlier: nothing reads them."""
    leftover: list[str]
    """Files that the next start deletes or makes anew."""
    unlike: list[str] = field(default_factory=list)
    """Differences between the state by footers and by records, in words."""
    in_doubt: list[str] = field(default_factory=list)
    """Further findings that a start would report, in words."""

    @property
    def damaged(self) -> list[SegmentHealth]:
        return [segment for segment in self.segments if not segment.sound]

    @property
    def sound(self) -> bool:
        """Nothing that had been synced is lost or in doubt."""
        return not (self.damaged or self.missing or self.unlike or self.in_doubt)

    @property
    def messages(self) -> int:
        return sum(queue.messages for queue in self.queues)

    @property
    def lost(self) -> int:
        return sum(queue.lost for queue in self.queues)

    @property
    def torn_bytes(self) -> int:
        return sum(segment.torn_bytes for segment in self.segments)
