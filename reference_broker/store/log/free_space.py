"""Admission: the part of a log's free space that publishers may use, so that acks always find some.

A batch that waits for a file has everything that is logged later behind it, also the acks that
would make the room. So no message is logged that may need a file that isn't there: there are the
rest of the segment in use, and the spare segment while it is READY. Half a segment of them is
reserved for acks, requeues, dead letters and definitions, and publishers are held back before they
reach it; when that happens because there is no spare, the disk is full, and the rest is the
consumers'. A message for which the usual spare is too small has it made larger first.

    | segment in use       |    spare, READY                |
    |......................|...................|   reserve  |   for messages: what is dotted

    | segment in use                                        |   no spare (yet)
    |.......................| withheld         |   reserve  |   scarce where "withheld" begins
    |.......................|..................|               for messages: what is dotted

Room is asked for message by message only while it is scarce, which nobody notices on a healthy
disk: the next spare is there long before. The log finds the place by its ``limit``, which it looks
at anyway: that is lower by ``withheld_bytes`` than it might be.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    Operation,
    RenameFile,
    TruncateFile,
)
from reference_broker.store.format import record
from reference_broker.store.format.footer import (
    END_ROOM,
    ENTRY_ROOM,
    FOOTER_RANGE_BYTES,
    FOREIGN_RANGES_ROOM,
    GROUP_ROOM,
    NOTE_ROOM,
)
from reference_broker.store.format.record import (
    BASE_BYTES,
    CHUNK_OVERHEAD_BYTES,
    ENTRY,
    FRAME_BYTES,
    PUBLISH_HEAD,
    SYNCED_BYTES,
)
from reference_broker.store.format.segment import HEADER_BYTES, SPARE_FILE, segment_bytes_for
from reference_broker.store.liveness.liveness import Liveness
from reference_broker.store.liveness.spare import Spare, SpareState
from reference_broker.store.log.deletions import REMOVED_ROOM

MESSAGE_ROOM = ENTRY_ROOM + GROUP_ROOM
FOREIGN_RANGES_SLACK = FOREIGN_RANGES_ROOM + FOOTER_RANGE_BYTES
SLACK = max(MESSAGE_ROOM, FOREIGN_RANGES_SLACK)
"""Kept free below the limit: a message with one entry need not ask for room in the footer."""
RESERVED_BYTES = END_ROOM + SLACK + REMOVED_ROOM
"""Of each segment, for its end."""

RESERVES_PER_SEGMENT = 2
"""The reserve is this part of a segment. An ack alone in its batch takes about 100 bytes, less than
any message: half a segment acks more than a segment's worth of messages above 200 bytes."""

PLAIN_PER_SEGMENT = 32
"""A message that need not ask while there is plenty has this part of a segment at most, once for
its bytes and once for its entries: 512 KiB each."""

_SCARCE_PER_PLAIN = 3
"""Room is scarce while there is less than this many plain messages of the largest kind."""

_ENTRY_BYTES = ENTRY.size + MESSAGE_ROOM
_MESSAGE_BYTES = FRAME_BYTES + PUBLISH_HEAD.size + CHUNK_OVERHEAD_BYTES + SLACK


def message_bytes(size_bytes: int, entries: int, messages: int) -> int:
    """Bytes that the messages take at most, in records and in the footer."""
    chunks = size_bytes // record.CHUNK_BYTES
    size_bytes += chunks * CHUNK_OVERHEAD_BYTES + entries * _ENTRY_BYTES
    return SYNCED_BYTES + messages * _MESSAGE_BYTES + size_bytes


class LogSpace:
    """The :class:`~reference_broker.core.journal.free_space.FreeSpace` of one log.

    ``free_bytes`` returns the bytes left in the segment in use, the withheld ones included.
    The log calls :meth:`rate` after each :meth:`begin_segment`, :meth:`ask_for_spare` and
    :meth:`batch_synced`; the last two it may leave out while the room is ``at_rest``.
    """

    def __init__(
        self, spare: Spare, liveness: Liveness, segment_bytes: int, free_bytes: Callable[[], int]
    ) -> None:
        self.scarce = True
        self.plain_bytes = segment_bytes // PLAIN_PER_SEGMENT
        self.plain_entries = self.plain_bytes // _ENTRY_BYTES
        self.at_rest = False
        """The usual spare is there, and nothing has begun that may need another."""
        self.withheld_bytes = 0
        """So much below the end of the segment in use is the log's limit."""
        self._reserve_bytes = segment_bytes // RESERVES_PER_SEGMENT
        self._spare = spare
        self._liveness = liveness
        self._segment_bytes = segment_bytes
        self._free_bytes = free_bytes
        self._awaited_base = -1
        self._became_scarce: Callable[[], None] = lambda: None

    # The core

    def listen(self, became_scarce: Callable[[], None]) -> None:
        """See :class:`~reference_broker.core.journal.free_space.FreeSpace`, as for all of the
        core's."""
        self._became_scarce = became_scarce

    def admits(self, size_bytes: int, entries: int, messages: int = 1) -> bool:
        needed = message_bytes(size_bytes, entries, messages)
        in_use, spare = self._free()
        if needed <= in_use:
            admitted = in_use - needed + spare >= self._reserve_bytes
        else:
            admitted = spare - needed >= self._reserve_bytes
        if not admitted:
            self.at_rest = False
            needed += self._reserve_bytes
            self._spare.want(segment_bytes_for(needed + self._beginning(), self._segment_bytes))
        return admitted

    def nobody_waits(self) -> None:
        self._spare.want_no_more()

    # The log

    def begin_segment(
        self, base: int, file: str, needed: int
    ) -> tuple[CreateFile | RenameFile, int]:
        """A segment begins, and its first records need so many bytes: how to get its file, and of
        what size. Where it is a new one nobody knows yet whether the disk has room for it."""
        self.withheld_bytes = 0
        self.at_rest = False
        least_bytes = needed + RESERVED_BYTES
        if self._spare.take(HEADER_BYTES + least_bytes):
            self._awaited_base = -1
            return RenameFile(SPARE_FILE, file), self._spare.size_bytes
        self._awaited_base = base
        size = segment_bytes_for(least_bytes, self._segment_bytes)
        return CreateFile(file, size), size

    def ask_for_spare(self) -> list[Operation]:
        """The operations for the spare that the batch made now needs, if any."""
        if self._spare.shrink(self._segment_bytes):
            return [TruncateFile(SPARE_FILE, self._segment_bytes)]
        size_bytes = self._spare.ask(self._segment_bytes)
        return [CreateSpare(SPARE_FILE, size_bytes)] if size_bytes else []

    def batch_synced(self, end: int, spare_missing: bool | None) -> None:
        """The log is on disk up to ``end``: a segment that begins below it has its file.
        ``spare_missing`` is ``None`` for a batch that was not to make the spare."""
        if spare_missing is not None:
            self._spare.answered(spare_missing)
        if self._awaited_base < end:
            self._awaited_base = -1

    def rate(self) -> int:
        """Find out whether room is scarce, and from where on it will be; by how much the log has
        to raise its limit (or lower it, below 0)."""
        in_use, spare = self._free()
        before = self.withheld_bytes
        enough = self._reserve_bytes + _SCARCE_PER_PLAIN * self.plain_bytes
        if spare >= enough:
            self.withheld_bytes = 0
            self.scarce = False
        elif in_use > enough:
            self.withheld_bytes = enough
            self.scarce = False
        else:
            self.release()
        self.at_rest = self._awaited_base < 0 and self._spare.is_as_usual(self._segment_bytes)
        return before - self.withheld_bytes

    def release(self) -> int:
        """The log has reached its limit: how much further it may go. Room is scarce from now on."""
        withheld, self.withheld_bytes = self.withheld_bytes, 0
        if not self.scarce:
            self.scarce = True
            self._became_scarce()
        return withheld

    def _free(self) -> tuple[int, int]:
        """Free bytes of the segment in use, and of the spare; 0 for one that may not be counted
        on."""
        ready = self._spare.state is SpareState.READY
        if self._awaited_base >= 0:  # it will be the spare, if that comes first
            return (self._free_bytes() if ready else 0), 0
        return self._free_bytes(), self._spare.size_bytes - self._beginning() if ready else 0

    def _beginning(self) -> int:
        """Bytes at the beginning of a segment that no message gets."""
        census_bytes = 2 * FRAME_BYTES + (len(self._liveness.bases) + 1) * BASE_BYTES + NOTE_ROOM
        return HEADER_BYTES + census_bytes + RESERVED_BYTES
