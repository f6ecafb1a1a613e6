from __future__ import annotations

import pytest

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry
from reference_broker.simulation.disk import Crash, SimulatedDisk
from reference_broker.store import Log, open_log
from reference_broker.store.checksum import ChecksumKind
from reference_broker.store.ports import CreateFile, RenameFile, Sync, SyncDirectory, Write


def pump(log: Log, disk: SimulatedDisk) -> None:
    batch = log.take_batch()
    assert batch is not None
    for operation in batch.operations:
        disk.perform(operation)
    log.batch_synced(batch)


def with_messages(count: int = 3, **options: ChecksumKind) -> SimulatedDisk:
    disk = SimulatedDisk()
    log, _ = open_log(disk, **options)
    for sequence in range(1, count + 1):
        log.publish([Entry(7, sequence)], Content(b"", b"", b"body"))
    pump(log, disk)
    return disk


def test_after_an_unclean_stop_the_last_segment_is_copied_and_synced_first() -> None:
    disk = with_messages()
    (file,) = disk.list_files()
    copy = file + ".copy"
    done = len(disk.performed)
    open_log(disk)
    create, write, *rest = disk.performed[done : done + 5]
    assert isinstance(create, CreateFile)
    assert isinstance(write, Write)
    assert create.file == write.file == copy
    assert rest == [Sync(copy), RenameFile(copy, file), SyncDirectory()]


def test_after_a_clean_stop_nothing_is_copied() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    log.close()
    pump(log, disk)
    done = len(disk.performed)
    _, recovered = open_log(disk)
    assert recovered.clean
    assert not any(isinstance(each, RenameFile) for each in disk.performed[done:])


def test_each_start_begins_a_segment_and_never_appends_to_an_old_one() -> None:
    disk = with_messages()
    (old,) = disk.list_files()
    log, _ = open_log(disk)
    before = disk.read(old)
    log.publish([Entry(7, 4)], Content(b"", b"", b"body"))
    pump(log, disk)
    assert disk.read(old) == before
    assert len(disk.list_files()) == 2
    assert len(before) < 500  # the copy is as large as its content


def test_a_left_over_copy_is_deleted() -> None:
    disk = with_messages()
    (file,) = disk.list_files()
    disk.perform(CreateFile(file + ".copy", 10))
    open_log(disk)
    assert not [each for each in disk.list_files() if each.endswith(".copy")]


def test_starting_again_and_again_without_messages_keeps_one_segment() -> None:
    disk = SimulatedDisk()
    for _ in range(5):
        log, _ = open_log(disk)
        while (batch := log.take_batch()) is not None:
            for operation in batch.operations:
                disk.perform(operation)
            log.batch_synced(batch)
        disk.crash(Crash.DROP)
        assert len(disk.list_files()) == 1


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
    assert len(recovered.entries[7]) == 3
    log.publish([Entry(7, 4)], Content(b"", b"", b"body"))
    pump(log, disk)
    _, recovered = open_log(disk, checksum=kind)
    assert len(recovered.entries[7]) == 4
    assert not recovered.damage.damaged


def test_damage_is_reported_at_every_start_and_repaired_by_none() -> None:
    disk = with_messages()
    log, _ = open_log(disk)
    pump_all = log.take_batch()
    assert pump_all is None
    old = min(disk.list_files())
    position = open_log(disk)[1].entries[7][0].content.position
    disk.flip(old, (position + 12) * 8)
    for _ in range(3):
        _, recovered = open_log(disk)
        assert recovered.damage.damaged_files == [old]
        assert not recovered.clean
        assert [entry.sequence for entry in recovered.entries[7]] == [2, 3]


def test_a_damaged_header_of_the_last_segment_is_written_anew_with_its_own_kind() -> None:
    disk = with_messages(checksum=ChecksumKind.CRC32)
    (file,) = disk.list_files()
    disk.flip(file, 3)
    _, recovered = open_log(disk)
    assert recovered.damage.damaged
    _, recovered = open_log(disk)
    assert not recovered.damage.damaged
    assert len(recovered.entries[7]) == 3
