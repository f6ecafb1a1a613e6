from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from reference_broker.core.content import Content
from reference_broker.core.index import QueueIndex
from reference_broker.core.journal import Entry, EntryColumns
from reference_broker.errors import StoreError
from reference_broker.simulation.disk import Crash, SimulatedDisk
from reference_broker.simulation.lone_log import filled, opened
from reference_broker.store import Log, Operation, RecoveredLog, open_log
from reference_broker.store.checksum import PREFERRED, ChecksumKind
from reference_broker.store.footer import read_footer
from reference_broker.store.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    RenameFile,
    Sync,
    SyncDirectory,
    Write,
)
from reference_broker.store.record import RecordType
from reference_broker.store.rewrite import build
from reference_broker.store.segment import SegmentName


class Queues:
    """What the broker knows of queue 7."""

    def __init__(self, log: Log, recovered: RecoveredLog) -> None:
        self.log = log
        self.index = recovered.queues.get(7, {}).get(0) or QueueIndex(1)
        log.attach(self)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from self.index.live_columns(queue_id, start, end)

    def publish(self) -> None:
        content = Content(b"", b"", b"body")
        self.log.publish([Entry(7, self.index.tail)], content)
        self.index.append(content.position, 4, content.stored)


def pump(log: Log, disk: SimulatedDisk) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)


def with_messages(count: int = 3, checksum: ChecksumKind = PREFERRED) -> SimulatedDisk:
    disk = SimulatedDisk()
    log, recovered = open_log(disk, checksum=checksum)
    queues = Queues(log, recovered)
    for _ in range(count):
        queues.publish()
    pump(log, disk)
    return disk


def segments(disk: SimulatedDisk) -> list[str]:
    return sorted(file for file in disk.list_files() if file.endswith(".segment"))


def name_of(file: str) -> SegmentName:
    name = SegmentName.parse(file)
    assert name is not None
    return name


def sequences(recovered: RecoveredLog) -> list[int]:
    return [
        sequence
        for columns in recovered.live_entries(7, 0, 1 << 62)
        for sequence in columns.sequences
    ]


def test_after_an_unclean_stop_the_last_segment_is_copied_and_synced_first() -> None:
    disk = with_messages()
    (file,) = segments(disk)
    copy = file + ".copy"
    done = len(disk.performed)
    open_log(disk)
    create, write, *rest = disk.performed[done + 2 : done + 7]  # behind the old spare's deletion
    assert isinstance(create, CreateFile)
    assert isinstance(write, Write)
    assert create.file == write.file == copy
    assert rest == [Sync(copy), RenameFile(copy, file), SyncDirectory()]


def test_the_copy_has_a_footer_and_is_not_scanned_again() -> None:
    disk = with_messages()
    (file,) = segments(disk)
    log, recovered = open_log(disk)
    footer = read_footer(disk, name_of(file), PREFERRED)
    assert footer is not None
    assert footer.end is RecordType.SEALED
    assert list(footer.groups[0].sequences) == [1, 2, 3]
    assert name_of(segments(disk)[1]).base == name_of(file).base + disk.size(file)
    Queues(log, recovered)
    log.close()
    pump(log, disk)
    disk.read = lambda file: pytest.fail(f"{file} was read")  # type: ignore[method-assign]
    _, recovered = open_log(disk)
    assert sequences(recovered) == [1, 2, 3]
    assert recovered.clean


def test_after_a_clean_stop_nothing_is_copied() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    log.close()
    pump(log, disk)
    done = len(disk.performed)
    _, recovered = open_log(disk)
    assert recovered.clean
    assert not any(isinstance(each, RenameFile) for each in disk.performed[done:])


def test_what_nothing_needs_is_deleted() -> None:
    disk = with_messages()
    (file,) = segments(disk)
    disk.perform(CreateFile(file + ".copy", 10))
    done = len(disk.performed)
    open_log(disk)
    assert sorted(disk.list_files()) == [*segments(disk), "spare"]
    assert CreateSpare in map(type, disk.performed[done:])


class FullDisk(SimulatedDisk):
    """There is no room for a spare."""

    def perform(self, operation: Operation) -> None:
        if isinstance(operation, CreateSpare):
            raise OSError(errno.ENOSPC, "full")
        super().perform(operation)


def test_without_room_for_a_spare_it_opens_and_says_so() -> None:
    disk = FullDisk()
    log, _ = open_log(disk)
    assert log.spare_missing
    assert segments(disk)


def test_a_folder_of_the_first_format_is_refused_and_left_alone() -> None:
    disk = SimulatedDisk()
    disk.perform(CreateFile("0000000000000000-00000001.segment", 10))
    disk.perform(CreateFile("spare", 10))
    with pytest.raises(StoreError, match="format version 1"):
        open_log(disk)
    assert len(disk.list_files()) == 2


def test_each_start_begins_a_segment_and_never_appends_to_an_old_one() -> None:
    disk = with_messages()
    (old,) = segments(disk)
    log, recovered = open_log(disk)
    before = disk.read(old)
    Queues(log, recovered).publish()
    pump(log, disk)
    assert disk.read(old) == before
    assert len(segments(disk)) == 2
    assert len(before) < 700  # the copy is as large as its content


def test_starting_again_and_again_without_messages_keeps_one_segment() -> None:
    disk = SimulatedDisk()
    for _ in range(5):
        log, _ = open_log(disk)
        pump(log, disk)
        disk.crash(Crash.DROP)
        assert len(segments(disk)) == 1


def test_positions_only_grow() -> None:
    disk = with_messages()
    tail = 0
    for _ in range(4):
        log, recovered = open_log(disk)
        assert log.tail > tail
        assert log.epoch == recovered.epoch
        tail = log.tail


@pytest.mark.parametrize("kind", ChecksumKind)
def test_a_folder_may_hold_both_kinds_of_checksum(kind: ChecksumKind) -> None:
    disk = with_messages(checksum=kind)
    other = ChecksumKind.CRC32 if kind is ChecksumKind.CRC32C else ChecksumKind.CRC32C
    log, recovered = open_log(disk, checksum=other)
    assert sequences(recovered) == [1, 2, 3]
    Queues(log, recovered).publish()
    pump(log, disk)
    _, recovered = open_log(disk, checksum=kind)
    assert sequences(recovered) == [1, 2, 3, 4]
    assert not recovered.damage.damaged


def test_damage_of_an_unfinished_segment_is_reported_at_every_start_and_repaired_by_none() -> None:
    disk = with_messages()
    log, recovered = open_log(disk)  # a crash; nothing is damaged yet
    queues = Queues(log, recovered)
    for _ in range(3):
        queues.publish()
        pump(log, disk)
    file = segments(disk)[-1]
    position = queues.index.entry(4).position
    disk.flip(file, (position - name_of(file).base + 12) * 8)
    for _ in range(3):
        _, recovered = open_log(disk)
        assert recovered.damage.damaged_files == [file]
        assert recovered.damage.lost == {7: 1}
        assert not recovered.clean
        assert sequences(recovered) == [1, 2, 3, 5, 6]


def test_a_damaged_header_of_the_last_segment_is_written_anew_with_its_own_kind() -> None:
    disk = with_messages(checksum=ChecksumKind.CRC32)
    (file,) = segments(disk)
    disk.flip(file, 3)
    _, recovered = open_log(disk)
    assert recovered.damage.damaged
    assert sequences(recovered) == [1, 2, 3]


def test_what_was_replaced_is_deleted_only_when_its_replacement_can_not_go() -> None:
    """A process was killed between a rename and its SyncDirectory, and then the power failed."""
    log, disk, queues = opened(4096)
    for _ in range(3):
        queues.publish(100, (8,))
        filled(log, disk, queues)
    plan = log.begin_rewrite()
    assert plan is not None
    log.finish_rewrite(plan, build(plan, disk))
    while RenameFile(plan.name.copy_file, plan.name.file) not in disk.performed:
        batch = log.take_batch()
        assert batch is not None
        for operation in batch.operations:
            disk.perform(operation)
            if isinstance(operation, RenameFile):
                break
        else:
            log.batch_synced(batch)
    done = len(disk.performed)
    open_log(disk, segment_bytes=4096)
    began = disk.performed[done:]
    first = next(n for n, each in enumerate(began) if isinstance(each, DeleteFile))
    assert SyncDirectory() in began[:first]
