"""Opening: recover what a disk holds, make it trustworthy, and begin a new epoch on it.

Each start begins a segment of its own, with a START record and all definitions, so nothing is ever
appended to bytes that an earlier process wrote. After an unclean stop the segment that was in use
is copied and synced first: after a failed fsync the page cache shows data that is not on the
medium, and a second fsync would not say so.
"""

from __future__ import annotations

from reference_broker.store.checksum import PREFERRED, ChecksumKind, checksum_of
from reference_broker.store.definitions import Definitions
from reference_broker.store.log import Log
from reference_broker.store.ports import (
    CreateFile,
    DeleteFile,
    Disk,
    RenameFile,
    Sync,
    SyncDirectory,
    Write,
)
from reference_broker.store.record import FRAME, SEALED_BYTES, SEALED_PAYLOAD
from reference_broker.store.recovered import LastSegment, RecoveredLog
from reference_broker.store.recovery import recover
from reference_broker.store.segment import (
    COPY_SUFFIX,
    HEADER_BYTES,
    SEGMENT_BYTES,
    SegmentHeader,
    SegmentName,
)


def open_log(
    disk: Disk,
    *,
    checksum: ChecksumKind = PREFERRED,
    segment_bytes: int = SEGMENT_BYTES,
) -> tuple[Log, RecoveredLog]:
    """Everything on ``disk`` that was recovered is durable when this returns, and so is the new
    epoch. The caller then rebuilds its queues from the definitions, calls
    :meth:`RecoveredLog.retain` with those that are left, and restores their entries.

    May be interrupted anywhere and called again. Raises ``OSError`` as the disk gives it, and
    :exc:`StoreError` when the folder was written by a version that isn't known."""
    names = []
    for file in sorted(disk.list_files()):
        name = SegmentName.parse(file)
        if name is not None:
            names.append(name)
        elif file.endswith(COPY_SUFFIX):
            disk.perform(DeleteFile(file))
    recovered = recover(names, lambda name: disk.read(name.file))
    if recovered.last is not None and not recovered.clean:
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
        disk.perform(operation)
    log.batch_synced(batch)
    return log, recovered


def _secure(disk: Disk, last: LastSegment, recovered: RecoveredLog) -> int:
    """Replace the last segment by a synced copy of what is trusted of it; returns where the log
    goes on."""
    file = last.name.file
    if not last.kept_bytes:
        disk.perform(DeleteFile(file))
        disk.perform(SyncDirectory())
        return recovered.tail
    pieces = _sealed_copy(disk.read(file), last, recovered.redelivered_below)
    copy = file + COPY_SUFFIX
    disk.perform(CreateFile(copy, sum(map(len, pieces))))
    disk.perform(Write(copy, 0, pieces))
    disk.perform(Sync(copy))
    disk.perform(RenameFile(copy, file))
    disk.perform(SyncDirectory())
    return recovered.tail if last.complete else recovered.tail + SEALED_BYTES


def _sealed_copy(data: bytes, last: LastSegment, redelivered_below: int) -> list[bytes]:
    header = SegmentHeader(last.name, last.checksum, redelivered_below)
    pieces = [header.encode(), data[HEADER_BYTES : last.kept_bytes]]
    if not last.complete:
        position = last.name.base + last.kept_bytes
        seed = last.name.seed ^ (position & 0xFFFFFFFF)
        checksum = checksum_of(last.checksum)(SEALED_PAYLOAD, seed)
        pieces += [FRAME.pack(len(SEALED_PAYLOAD), checksum), SEALED_PAYLOAD]
    return pieces
