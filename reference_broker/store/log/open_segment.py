"""The segment in use: its file as far as it is written, and the content of its footer so far.

The log appends the records and has a new one at each roll. How much room a segment still has is
the log's to know.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from reference_broker.core.journal.journal import EntrySource
from reference_broker.store.disk.ports import Operation, Piece, Sync, SyncDirectory, Write
from reference_broker.store.format.footer import Footer, alive
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import HEADER_BYTES
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.log.foreign_ranges_by_segment import ForeignRangesBySegment


class OpenSegment:
    """The segment in use, from its creation to its seal."""

    __slots__ = (
        "_liveness",
        "_notes",
        "_written",
        "base",
        "foreign_ranges",
        "live_bytes",
        "seed",
        "touched",
        "use",
    )

    def __init__(self, use: SegmentUse, liveness: Liveness) -> None:
        self.use = use
        self.base = use.base
        self.seed = use.name.seed
        self.live_bytes = 0
        """:attr:`Content.stored` of its live entries: the log counts, for each message."""
        self.touched: dict[int, None] = {}
        """The queues that got a message in it, in the order of their first."""
        self.foreign_ranges = ForeignRangesBySegment(liveness, use)
        self._liveness = liveness
        self._notes = array("I")
        self._written = self.base + HEADER_BYTES

    def create(self, creation: Operation, header: bytes) -> list[Operation]:
        """The operations that make its file, by ``creation``: durable, and still without a
        record."""
        file = self.use.name.file
        return [creation, Write(file, 0, [header]), Sync(file), SyncDirectory()]

    def write(self, pieces: list[Piece], end: int) -> Write:
        """The operation that appends ``pieces`` to its file; ``end`` is the log position behind
        them."""
        write = Write(self.use.name.file, self._written - self.base, pieces)
        self._written = end
        return write

    def note(self, position: int) -> None:
        """A start has to read the record at ``position``: the footer says where it is."""
        self._notes.append(position - self.base)

    def footer(
        self, end: RecordType, epoch: int, entries: Callable[[], EntrySource], tail: int
    ) -> Footer:
        """Its footer, if it were sealed now, by an ``end`` record, at the log position ``tail``.
        ``entries`` is asked only when a queue has got a message in it."""
        groups = alive(entries(), self.touched, self.base, tail) if self.touched else []
        return Footer(end, epoch, self._notes, groups, self.foreign_ranges.ranges())

    def seal(self, end: int) -> None:
        """Its trailer ends at the log position ``end``. Nothing may be appended from now on."""
        size_bytes = end - self.base
        self.use.touched = array("Q", self.touched)
        self.use.live_bytes += self.live_bytes
        self._liveness.seal(self.use, end, size_bytes, capacity_bytes=size_bytes)
