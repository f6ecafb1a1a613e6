"""Repairing a data folder: afterwards everything in it is sound, and nothing that could be read is
gone. For a folder that no broker uses; the caller holds its lock.

    put aside   what a rewritten segment stands for, which a start would delete
    take over   what a start does: the newest segment is secured, and a new one has a census of what
                is there, and a queue for messages whose queue's definition is lost
    write anew  each damaged segment; its damaged file is put aside

A crash at any step leaves a folder that can be repaired again: a file is put aside only when what
stands for it is durable. Files that are put aside are never read, and never deleted. (Of a damaged
newest segment the copy is put aside that a start makes of it: without the unsynced tail.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from reference_broker.errors import StoreError
from reference_broker.store.disk.disk_view import DiskView
from reference_broker.store.disk.ports import (
    CreateSpare,
    DeleteFile,
    Disk,
    Operation,
    RenameFile,
    SyncDirectory,
)
from reference_broker.store.doctor.examination import NO_FOOTER, Examination, examine, is_sound_file
from reference_broker.store.doctor.health import Health, SegmentHealth
from reference_broker.store.doctor.queue_names import queue_names, salvaged_name, salvaged_queue
from reference_broker.store.doctor.salvage import plan_salvage, write_salvage
from reference_broker.store.format.segment import QUARANTINE_SUFFIX, SegmentName
from reference_broker.store.log.log import Log
from reference_broker.store.start.opening import open_log
from reference_broker.store.start.recovered import RecoveredLog

CENSUS_SEGMENT_BYTES = 64 * 1024
"""Of the segment that a repair begins: it is to fit on a disk that is nearly full."""


@dataclass(slots=True)
class Repair:
    """The outcome of a repair that was done, or is planned."""

    health: Health
    """Of the folder before it: what is damaged, lost and missing."""
    put_aside: list[str]
    """The names that damaged files get."""
    salvaged: dict[int, str]
    """Queue id -> name of the queue that its messages get, since its definition is lost."""

    @property
    def needed(self) -> bool:
        return bool(self.put_aside or not self.health.sound)


def plan_repair(disk: Disk) -> Repair:
    """Plan a :func:`repair`; nothing is changed. Raises as that does."""
    examination = examine(disk)
    health = examination.health
    if health.unlike or health.in_doubt:
        raise StoreError(
            f"no failing disk leaves this: {'; '.join(health.unlike + health.in_doubt)}"
            " (nothing was changed; a dump shows what is there)"
        )
    files = _superseded(disk, health)
    files += [each.name.file for each in health.damaged if not _is_completed(each, examination)]
    salvaged = {} if health.sound else _salvaged(examination.recovered)
    return Repair(health, [file + QUARANTINE_SUFFIX for file in files], salvaged)


def repair(disk: Disk) -> Repair:
    """Make the folder sound; nothing is done where it is. Idempotent, and may be interrupted
    anywhere and called again.

    Raises :exc:`StoreError` when it can't be made sound, or was written by a version that isn't
    known; :exc:`CopyFailed` when there is no room for a segment that is to be written anew, and
    ``OSError`` as the disk gives it."""
    done = plan_repair(disk)
    before = set(done.health.quarantined)
    for file in _superseded(disk, done.health):
        disk.perform(RenameFile(file, file + QUARANTINE_SUFFIX))
        disk.perform(SyncDirectory())
    if not done.health.sound:
        damaged = {segment.name.file for segment in done.health.damaged}
        _take_over(_SparingDisk(disk, damaged), done.salvaged)
        _write_anew(disk)
    left = examine(disk).health
    if not left.sound:
        files = ", ".join(segment.name.file for segment in left.damaged)
        raise StoreError(f"the folder is still damaged: {files} (is the disk failing?)")
    done.put_aside = [file for file in left.quarantined if file not in before]
    return done


def _is_completed(segment: SegmentHealth, examination: Examination) -> bool:
    """``True`` for the newest one if it only lacks a sound footer: a start makes that, as after a
    crash."""
    last = examination.recovered.last
    return (
        last is not None
        and last.name == segment.name
        and all(fault.what == NO_FOOTER for fault in segment.faults)
    )


class _SparingDisk(DiskView):
    """A :class:`Disk` on which some files are put aside when they are to be deleted: a start
    deletes a segment that nothing needs, and doesn't know that it is damaged."""

    def __init__(self, disk: Disk, spared: Collection[str]) -> None:
        super().__init__(disk)
        self._spared = spared

    def perform(self, operation: Operation) -> None:
        if isinstance(operation, DeleteFile) and operation.file in self._spared:
            operation = RenameFile(operation.file, operation.file + QUARANTINE_SUFFIX)
        self._disk.perform(operation)

    def close(self) -> None:
        self._disk.close()


def _superseded(disk: Disk, health: Health) -> list[str]:
    """The files that a rewritten segment stands for, and that nevertheless may be of use: all of
    them where something is damaged, else those that are damaged themselves (a repair that was cut
    short leaves one)."""
    names = ((file, SegmentName.parse(file)) for file in health.leftover)
    return [
        file
        for file, name in names
        if name is not None and not (health.sound and is_sound_file(disk, name))
    ]


def _salvaged(recovered: RecoveredLog) -> dict[int, str]:
    known = queue_names(recovered.definitions)
    orphans = [queue_id for queue_id in recovered.queues if queue_id not in known]
    return {queue_id: salvaged_name(queue_id) for queue_id in orphans}


def _take_over(disk: Disk, queue_ids: Iterable[int]) -> None:
    """Start and stop, as a broker does, and define a queue for each of these ids."""
    log, recovered = open_log(disk, segment_bytes=CENSUS_SEGMENT_BYTES)
    log.attach(recovered)
    for queue_id in queue_ids:
        log.define(*salvaged_queue(queue_id))
    _perform_all(disk, log)
    log.close()
    _perform_all(disk, log)


def _perform_all(disk: Disk, log: Log) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            if isinstance(operation, CreateSpare):
                batch.spare_missing = True  # The next start makes one of the right size.
            else:
                disk.perform(operation)
        log.batch_synced(batch)


def _write_anew(disk: Disk) -> None:
    """Write each damaged segment anew, and put its file aside when the new one is durable."""
    examination = examine(disk)
    recovered, unreadable = examination.recovered, examination.unreadable
    salvages = [
        plan_salvage(disk, recovered, recovered.liveness.segments[base], unreadable[base])
        for base in unreadable
    ]
    for salvage in salvages:
        write_salvage(salvage, disk)
        new, old = salvage.plan.name, salvage.plan.sources[0].name.file
        disk.perform(RenameFile(new.copy_file, new.file))
        disk.perform(SyncDirectory())
        disk.perform(RenameFile(old, old + QUARANTINE_SUFFIX))
        disk.perform(SyncDirectory())
