"""Opening: recover what a disk holds, make it trustworthy, and begin a new epoch on it.

Each start begins a segment of its own, with a START record and all definitions, so nothing is ever
appended to bytes that an earlier process wrote. After an unclean stop the segment that was in use
is copied and synced first: after a failed fsync the page cache shows data that is not on the
medium, and a second fsync would not report it. The copy is sealed, so the next start needn't scan
it.

A broker that stopped because its disk was full must be able to start: its consumers are what makes
room. So where there is none for the copy, the same bytes are written again where they are, which is
as good: the pages are dirty then, and the sync really writes them. And the first segment may be as
small as what has to be in it, with some room for acks.
"""

from __future__ import annotations

import errno
from array import array

from reference_broker.store.disk.ports import (
    DISK_FULL,
    CreateFile,
    CreateSpare,
    DeleteFile,
    Disk,
    Piece,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind, checksum_of
from reference_broker.store.format.footer import NOTE_ROOM, Footer, alive, encode_footer
from reference_broker.store.format.record import (
    BASE_BYTES,
    FRAME,
    FRAME_BYTES,
    SEALED_PAYLOAD,
    SYNCED_BYTES,
    RecordType,
    encode_start,
)
from reference_broker.store.format.segment import (
    HEADER_BYTES,
    SEGMENT_BYTES,
    SPARE_FILE,
    SegmentHeader,
)
from reference_broker.store.format.trailer import encode_trailer
from reference_broker.store.liveness.definitions import Definitions
from reference_broker.store.log.free_space import RESERVED_BYTES
from reference_broker.store.log.log import Log
from reference_broker.store.log.segment_writer import BATCH_BYTES
from reference_broker.store.start.recovered import LastSegment, RecoveredLog
from reference_broker.store.start.recovery import recover

ACK_ROOM_BYTES = 1024
"""Of the first segment on a full disk: for twenty ranges of acks, which are hundreds in a row."""


def open_log(
    disk: Disk,
    *,
    checksum: ChecksumKind = PREFERRED,
    segment_bytes: int = SEGMENT_BYTES,
    batch_bytes: int = BATCH_BYTES,
) -> tuple[Log, RecoveredLog]:
    """Everything on ``disk`` that was recovered is durable when this returns, and so is the new
    epoch. The caller then rebuilds its queues from the definitions, calls
    :meth:`RecoveredLog.retain` with those that are left, adopts their indexes, and tells the log
    by :meth:`Log.attach` who has them.

    May be interrupted anywhere and called again. Raises ``OSError`` as the disk gives it (when it
    is full, with the bytes that have to be free), and :exc:`StoreError` when the folder was written
    by a version that isn't known."""
    recovered = recover(disk)
    if recovered.leftover:
        # The process may have ended before the name of what replaces them was synced.
        disk.perform(SyncDirectory())
    for file in recovered.leftover:
        disk.perform(DeleteFile(file))
    if recovered.last is not None:
        recovered.tail = _secure(disk, recovered.last, recovered)
    definitions = Definitions()
    definitions.replace(recovered.definitions)
    needed_bytes = _beginning_bytes(recovered, definitions)
    most_bytes = max(segment_bytes, needed_bytes)
    spare_bytes = _make_spare(disk, most_bytes, min(needed_bytes + ACK_ROOM_BYTES, most_bytes))
    log = Log(
        epoch=recovered.epoch,
        tail=recovered.tail,
        clean=recovered.clean,
        redelivered_below=recovered.redelivered_below,
        definitions=definitions,
        liveness=recovered.liveness,
        checksum=checksum,
        segment_bytes=segment_bytes,
        spare_bytes=spare_bytes,
        batch_bytes=batch_bytes,
    )
    while log.synced < log.tail:
        batch = log.take_batch()
        assert batch is not None
        for operation in batch.operations:
            if isinstance(operation, CreateSpare):
                batch.spare_missing = not _has_room(disk, operation)
            else:
                disk.perform(operation)
        log.batch_synced(batch)
    return log, recovered


def _beginning_bytes(recovered: RecoveredLog, definitions: Definitions) -> int:
    """Bytes that the first segment takes with its START, CENSUS and DEFINITIONS, and a REMOVED of
    all that there is."""
    start_bytes = FRAME_BYTES + len(encode_start(recovered.epoch, recovered.clean))
    bases_bytes = FRAME_BYTES + len(recovered.liveness.census()) + BASE_BYTES
    records_bytes = SYNCED_BYTES + start_bytes + 2 * bases_bytes + definitions.snapshot_bytes
    return HEADER_BYTES + records_bytes + 3 * NOTE_ROOM + RESERVED_BYTES


def _make_spare(disk: Disk, most_bytes: int, least_bytes: int) -> int:
    """Create the spare file, as large as there is room for; returns its size."""
    size_bytes = most_bytes
    while not _has_room(disk, CreateFile(SPARE_FILE, size_bytes)):
        if size_bytes <= least_bytes:
            raise OSError(errno.ENOSPC, f"a start needs {least_bytes} bytes of room on the disk")
        size_bytes = max(size_bytes // 2, least_bytes)
    return size_bytes


def _has_room(disk: Disk, creation: CreateFile | CreateSpare) -> bool:
    """Perform ``creation``; ``False`` when the disk is full."""
    try:
        disk.perform(creation)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        return False
    return True


def _secure(disk: Disk, last: LastSegment, recovered: RecoveredLog) -> int:
    """Have the trusted part of the last segment synced, and complete it; returns the log position
    behind it."""
    file, use = last.name.file, last.use
    if use is None:
        disk.perform(DeleteFile(file))
        disk.perform(SyncDirectory())
        return recovered.tail
    data = memoryview(disk.read(file))
    end_pieces = _end_of(last, recovered)
    size_bytes = last.kept_bytes + sum(map(len, end_pieces))
    header = SegmentHeader(last.name, last.checksum, recovered.redelivered_below)
    whole: list[Piece] = [header.encode(), data[HEADER_BYTES : last.kept_bytes], *end_pieces]
    copy = last.name.copy_file
    if _has_room(disk, CreateFile(copy, size_bytes)):
        disk.perform(Write(copy, 0, whole))
        disk.perform(Sync(copy))
        disk.perform(RenameFile(copy, file))
        disk.perform(SyncDirectory())
    else:
        # The header stays as it is, too: torn, it would be damage. The next one has it all.
        disk.perform(Write(file, 0, [data[: last.kept_bytes], *end_pieces]))
        disk.perform(Sync(file))
        # Cut after the sync: a file that ends with its trailer proves that it was synced.
        disk.perform(TruncateFile(file, size_bytes))
        disk.perform(Sync(file))
    end = use.base + size_bytes
    recovered.liveness.seal(use, end, size_bytes, capacity_bytes=size_bytes)
    return end


def _end_of(last: LastSegment, recovered: RecoveredLog) -> list[Piece]:
    """The records behind the part that is kept: with a footer, unless something in it is damaged.
    The next start is to see that again."""
    pieces: list[Piece] = []
    offset = last.kept_bytes
    if not last.complete:
        offset += _add_record(pieces, SEALED_PAYLOAD, last, offset)
    use = last.use
    if use is not None and not use.damaged:
        entries = alive(recovered, use.touched, use.base, use.end)
        notes = array("I", last.notes)
        footer = encode_footer(
            Footer(RecordType.SEALED, use.name.epoch, notes, entries, last.foreign_ranges)
        )
        _add_record(pieces, footer, last, offset)
        pieces.append(encode_trailer(offset, len(footer)))
    return pieces


def _add_record(pieces: list[Piece], payload: bytes, last: LastSegment, offset: int) -> int:
    """Add a record to ``pieces``; returns its length, with its frame."""
    seed = last.name.seed ^ ((last.name.base + offset) & 0xFFFFFFFF)
    frame = FRAME.pack(len(payload), checksum_of(last.checksum)(payload, seed))
    pieces += (frame, payload)
    return len(frame) + len(payload)
