"""Opening: recover what a disk holds, make it trustworthy, and begin a new epoch on it.

Each start begins a segment of its own, with a START record and all definitions, so nothing is ever
appended to bytes that an earlier process wrote. After an unclean stop the segment that was in use
is copied and synced first: after a failed fsync the page cache shows data that is not on the
medium, and a second fsync would not say so. The copy is sealed, so the next start needn't scan it.
"""

from __future__ import annotations

from array import array

from reference_broker.store.checksum import PREFERRED, ChecksumKind, checksum_of
from reference_broker.store.definitions import Definitions
from reference_broker.store.footer import Footer, alive, encode_footer
from reference_broker.store.log import Log
from reference_broker.store.ports import (
    DISK_FULL,
    CreateFile,
    CreateSpare,
    DeleteFile,
    Disk,
    Piece,
    RenameFile,
    Sync,
    SyncDirectory,
    Write,
)
from reference_broker.store.record import FRAME, SEALED_PAYLOAD, RecordType
from reference_broker.store.recovered import LastSegment, RecoveredLog
from reference_broker.store.recovery import recover
from reference_broker.store.segment import HEADER_BYTES, SEGMENT_BYTES, SegmentHeader
from reference_broker.store.trailer import encode_trailer


def open_log(
    disk: Disk,
    *,
    checksum: ChecksumKind = PREFERRED,
    segment_bytes: int = SEGMENT_BYTES,
) -> tuple[Log, RecoveredLog]:
    """Everything on ``disk`` that was recovered is durable when this returns, and so is the new
    epoch. The caller then rebuilds its queues from the definitions, calls
    :meth:`RecoveredLog.retain` with those that are left, adopts their indexes, and tells the log
    by :meth:`Log.attach` who has them.

    May be interrupted anywhere and called again. Raises ``OSError`` as the disk gives it, and
    :exc:`StoreError` when the folder was written by a version that isn't known."""
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
    log = Log(
        epoch=recovered.epoch,
        tail=recovered.tail,
        clean=recovered.clean,
        redelivered_below=recovered.redelivered_below,
        definitions=definitions,
        liveness=recovered.liveness,
        checksum=checksum,
        segment_bytes=segment_bytes,
    )
    batch = log.take_batch()
    assert batch is not None
    for operation in batch.operations:
        try:
            disk.perform(operation)
        except OSError as error:
            if not isinstance(operation, CreateSpare) or error.errno not in DISK_FULL:
                raise
            batch.spare_missing = True
    log.batch_synced(batch)
    return log, recovered


def _secure(disk: Disk, last: LastSegment, recovered: RecoveredLog) -> int:
    """Replace the last segment by a synced copy of what is trusted of it; returns where the log
    goes on."""
    file, use = last.name.file, last.use
    if use is None:
        disk.perform(DeleteFile(file))
        disk.perform(SyncDirectory())
        return recovered.tail
    pieces = _sealed_copy(memoryview(disk.read(file)), last, recovered)
    size_bytes = sum(map(len, pieces))
    copy = last.name.copy_file
    disk.perform(CreateFile(copy, size_bytes))
    disk.perform(Write(copy, 0, pieces))
    disk.perform(Sync(copy))
    disk.perform(RenameFile(copy, file))
    disk.perform(SyncDirectory())
    end = use.base + size_bytes
    recovered.liveness.seal(use, end, size_bytes, capacity_bytes=size_bytes)
    return end


def _sealed_copy(data: memoryview, last: LastSegment, recovered: RecoveredLog) -> list[Piece]:
    """With a footer, unless something in it is damaged: the next start is to see that again."""
    header = SegmentHeader(last.name, last.checksum, recovered.redelivered_below)
    pieces: list[Piece] = [header.encode(), data[HEADER_BYTES : last.kept_bytes]]
    offset = last.kept_bytes
    if not last.complete:
        offset += _add_record(pieces, SEALED_PAYLOAD, last, offset)
    use = last.use
    if use is not None and not use.damaged:
        entries = alive(recovered, use.touched, use.base, use.end)
        notes = array("I", last.notes)
        footer = encode_footer(
            Footer(RecordType.SEALED, use.name.epoch, notes, entries, last.speeches)
        )
        _add_record(pieces, footer, last, offset)
        pieces.append(encode_trailer(offset, len(footer)))
    return pieces


def _add_record(pieces: list[Piece], payload: bytes, last: LastSegment, offset: int) -> int:
    """How long it is, with its frame."""
    seed = last.name.seed ^ ((last.name.base + offset) & 0xFFFFFFFF)
    frame = FRAME.pack(len(payload), checksum_of(last.checksum)(payload, seed))
    pieces += (frame, payload)
    return len(frame) + len(payload)
