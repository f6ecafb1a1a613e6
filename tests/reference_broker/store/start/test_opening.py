from __future__ import annotations

import errno
from collections.abc import Iterator
from random import Random

import pytest

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.errors import StoreError
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PowerCut, PoweredDisk
from reference_broker.store import Log, Operation, RecoveredLog, open_log
from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind
from reference_broker.store.format.footer import read_footer
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import SPARE_FILE, SegmentName
from reference_broker.store.rewrite.rewrite import build
from reference_broker.testing.lone_log import (
    LoneQueues,
    adopted,
    filled,
    opened,
    settle_down,
)


class Queues:
    """Queue 7 as a broker has it: an index, and messages that go to its tail."""

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
    created = [each.file for each in disk.performed[done:] if isinstance(each, CreateFile)]
    assert created == [SPARE_FILE]


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


# A full disk

SMALL_BYTES = 64 * 1024


def nearly_full(free_bytes: int, random: Random | None = None) -> PoweredDisk:
    """After a kill: 20 messages in the last segment, which are synced, and so much room beside the
    segments, once the old spare is gone."""
    disk = PoweredDisk(random)
    log, _ = open_log(disk, segment_bytes=SMALL_BYTES)
    queues = LoneQueues(log)
    queues.publish(100)
    pump(log, disk)
    for _ in range(20):
        queues.publish(2000)
        pump(log, disk)
    disk.perform(DeleteFile(SPARE_FILE))
    disk.capacity_bytes = disk.size_bytes + free_bytes
    return disk


def test_where_the_copy_has_no_room_the_segment_is_secured_in_its_place() -> None:
    disk = nearly_full(free_bytes=5000)
    (file,) = segments(disk)
    before = disk.read(file)
    done = len(disk.performed)
    log, recovered = open_log(disk, segment_bytes=SMALL_BYTES)
    assert log.spare_missing
    write, *rest = disk.performed[done : done + 4]
    assert isinstance(write, Write)
    assert (write.file, write.offset) == (file, 0)
    assert rest == [Sync(file), TruncateFile(file, disk.size(file)), Sync(file)]
    assert disk.size(file) < 48_000
    kept = recovered.last
    assert kept is not None
    assert disk.read(file)[: kept.kept_bytes] == before[: kept.kept_bytes]
    footer = read_footer(disk, name_of(file), PREFERRED)
    assert footer is not None
    assert len(footer.groups[0].sequences) == 21


def test_a_full_disk_gets_a_smaller_first_segment_and_acks_make_room() -> None:
    disk = nearly_full(free_bytes=5000)
    log, recovered = open_log(disk, segment_bytes=SMALL_BYTES)
    _, first = segments(disk)
    assert disk.size(first) == SMALL_BYTES // 4
    queues = adopted(log, recovered)
    while queues.indexes[7].ready:
        queues.ack()
        pump(log, disk)
    settle_down(log, disk)
    assert segments(disk) == [first]


@pytest.mark.parametrize("how", Crash)
def test_a_start_on_a_full_disk_may_be_cut_short_anywhere(how: Crash) -> None:
    cuts = 0
    for operation in range(1, 40):
        disk = nearly_full(5000, Random(operation))
        disk.cut_power_at(operation)
        try:
            open_log(disk, segment_bytes=SMALL_BYTES)
        except PowerCut:
            cuts += 1
        disk.keep_power()
        for torn_at in (operation * 1000, operation):
            disk.crash(how, torn_at)
            _, recovered = open_log(disk, segment_bytes=SMALL_BYTES)
            assert not recovered.damage.damaged
            assert sequences(recovered) == list(range(1, 22)), (operation, how)
    assert cuts > 8


def test_without_the_least_room_it_says_how_much_that_is() -> None:
    disk = nearly_full(free_bytes=0)
    disk.full = True
    with pytest.raises(OSError, match=r"a start needs \d{4} bytes of room") as caught:
        open_log(disk, segment_bytes=SMALL_BYTES)
    assert caught.value.errno == errno.ENOSPC
    least = int(str(caught.value).split("needs ")[1].split()[0])
    disk.full = False
    for free, opens in ((least - 1, False), (least, True)):
        disk.capacity_bytes = disk.size_bytes + free
        try:
            log, _ = open_log(disk, segment_bytes=SMALL_BYTES)
        except OSError:
            assert not opens
        else:
            assert opens
            assert log.spare_missing


def test_another_error_is_no_full_disk() -> None:
    for operation in (1, 5):  # creating the copy, and the first segment
        disk = nearly_full(free_bytes=100_000)
        disk.fail_at(operation + 1, errno.EIO)
        with pytest.raises(OSError, match="simulated") as caught:
            open_log(disk, segment_bytes=SMALL_BYTES)
        assert caught.value.errno == errno.EIO


def test_definitions_larger_than_a_segment_are_in_the_first_one() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=1024)
    log.define("queue", bytes(3000))
    pump(log, disk)
    _, recovered = open_log(disk, segment_bytes=1024)
    assert recovered.definitions == {"queue": bytes(3000)}
    assert 3000 < disk.size(segments(disk)[-1]) < 4000


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
