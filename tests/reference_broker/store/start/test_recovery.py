"""Torn or corrupt: every cut and every flipped bit of a small log, against what was promised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_broker.core.index.index import EntryState, QueueIndex
from reference_broker.core.index.priority import first_sequence
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Log, RecoveredLog, open_log
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Write
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.record import CHUNK_BYTES, RecordType
from reference_broker.store.format.segment import HEADER_BYTES, SegmentHeader, SegmentName
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.start.recovery import recover

BATCHES = 5
PER_BATCH = 3


class Queues:
    """Stands for the broker."""

    def __init__(self, log: Log, recovered: RecoveredLog | None = None) -> None:
        self.log = log
        self.indexes: dict[int, QueueIndex] = {}
        if recovered is not None:
            self.indexes = {each: levels[0] for each, levels in recovered.queues.items()}
        log.attach(self)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        if queue_id in self.indexes:
            yield from self.indexes[queue_id].live_columns(queue_id, start, end)

    def publish(self, size: int = 40, queue_id: int = 7) -> Content:
        index = self.indexes.setdefault(queue_id, QueueIndex(1))
        body = bytes([index.tail % 255 + 1]) * size
        content = Content(b"\x01e\x01k", b"header", body)
        self.log.publish([Entry(queue_id, index.tail)], content)
        index.append(content.position, size, content.stored)
        return content

    def take(self, queue_id: int = 7) -> tuple[int, int, int]:
        taken = self.indexes[queue_id].take()
        assert taken is not None
        entry = self.indexes[queue_id].entry(taken[0])
        return taken[0], entry.position, entry.stored

    def ack(self, queue_id: int = 7) -> None:
        sequence, position, stored = self.take(queue_id)
        self.log.ack(queue_id, sequence, position, stored)
        self.indexes[queue_id].settle(sequence)


def opened(segment_bytes: int = 4096) -> tuple[SimulatedDisk, Log, Queues]:
    disk = SimulatedDisk()
    log, recovered = open_log(disk, segment_bytes=segment_bytes)
    return disk, log, Queues(log, recovered)


def pump(log: Log, disk: SimulatedDisk) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)


def written(segment_bytes: int = 4096, close: bool = False) -> tuple[SimulatedDisk, list[int]]:
    """A log of some batches of messages 1, 2, 3 ...; and where each batch starts."""
    disk, log, queues = opened(segment_bytes)
    starts = []
    for _ in range(BATCHES):
        starts.append(log.tail)
        for _ in range(PER_BATCH):
            queues.publish()
        pump(log, disk)
    starts.append(log.tail)
    if close:
        log.close()
        pump(log, disk)
    return disk, starts


def names_of(disk: SimulatedDisk) -> list[SegmentName]:
    names = [SegmentName.parse(file) for file in sorted(disk.list_files())]
    return [name for name in names if name is not None]


def recovered_from(
    disk: SimulatedDisk, replaced: dict[str, bytes], trust_footers: bool = True
) -> RecoveredLog:
    """The log that is recovered when some files have other contents."""
    other = SimulatedDisk()
    for file in disk.list_files():
        data = replaced.get(file, disk.read(file))
        other.perform(CreateFile(file, len(data)))
        other.perform(Write(file, 0, [data]))
    return recover(other, trust_footers=trust_footers)


def columns_of(recovered: RecoveredLog, queue_id: int = 7) -> list[tuple[int, int]]:
    return [
        (sequence, state)
        for columns in recovered.live_entries(queue_id, 0, 1 << 62)
        for sequence, state in zip(columns.sequences, columns.states, strict=True)
    ]


def sequences(recovered: RecoveredLog, queue_id: int = 7) -> list[int]:
    return [sequence for sequence, _ in columns_of(recovered, queue_id)]


def redelivered(recovered: RecoveredLog) -> list[int]:
    states = columns_of(recovered)
    return [sequence for sequence, state in states if state == EntryState.REDELIVERED]


def test_a_new_folder() -> None:
    recovered = recover(SimulatedDisk())
    assert (recovered.epoch, recovered.tail, recovered.clean) == (1, 0, True)
    assert recovered.last is None
    assert str(recovered.damage) == "nothing was lost"


def test_every_cut_of_the_last_segment_keeps_a_prefix_and_says_what_was_cut() -> None:
    disk, _ = written()
    (name,) = names_of(disk)
    data = disk.read(name.file)
    end = len(data.rstrip(b"\0"))
    found = 0
    for cut in range(HEADER_BYTES, end):
        torn = data[:cut] + bytes(len(data) - cut)
        recovered = recovered_from(disk, {name.file: torn})
        seen = sequences(recovered)
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) >= found
        found = len(seen)
        assert not recovered.damage.damaged
        assert not recovered.clean
        # Nothing is cut unmentioned: what was kept and what was cut is all that there is.
        kept = recovered.tail or HEADER_BYTES
        assert kept + recovered.damage.cut_bytes >= len(torn.rstrip(b"\0"))
    assert found == BATCHES * PER_BATCH - 1


def test_every_flipped_bit_below_the_last_sync_is_corruption_and_above_it_a_torn_tail() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    data = disk.read(name.file)
    end = len(data.rstrip(b"\0"))
    promised = starts[-2]  # the last batch starts with a SYNCED record of this position
    everything = list(range(1, BATCHES * PER_BATCH + 1))
    for position in range(end):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        recovered = recovered_from(disk, {name.file: bytes(flipped)})
        missing = [each for each in everything if each not in sequences(recovered)]
        if position < promised:
            assert recovered.damage.damaged_files == [name.file], position
            assert recovered.damage.quarantined_bytes > 0
            assert recovered.damage.cut_bytes == 0
            assert len(missing) <= 1
            assert recovered.tail == end
        else:
            # The SYNCED record itself may be hit: then even the batch before it isn't proven,
            # but it is sound, and so it is kept.
            assert not recovered.damage.damaged
            assert recovered.damage.cut_bytes > 0
            assert missing == everything[len(everything) - len(missing) :]
        assert not recovered.clean


def test_readable_records_behind_a_torn_one_are_cut_too() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    flipped = bytearray(disk.read(name.file))
    flipped[starts[-2] + 30] ^= 1  # the first message of the last batch
    recovered = recovered_from(disk, {name.file: bytes(flipped)})
    assert sequences(recovered) == list(range(1, (BATCHES - 1) * PER_BATCH + 1))
    assert recovered.damage.cut_bytes > 2 * 40


def test_corruption_of_a_synced_place_and_a_torn_tail_together() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    flipped = bytearray(disk.read(name.file))
    flipped[starts[1] + 40] ^= 1
    flipped[starts[-1] - 5] ^= 1
    recovered = recovered_from(disk, {name.file: bytes(flipped)})
    assert sequences(recovered) == [1, 2, 3, *range(5, 15)]
    assert recovered.damage.damaged
    assert recovered.damage.cut_bytes > 0
    assert "can't be read and stay quarantined" in str(recovered.damage)
    assert "unsynced tail were cut" in str(recovered.damage)


def test_a_flipped_bit_anywhere_in_a_sealed_segment_is_corruption() -> None:
    disk, _ = written(segment_bytes=768)
    names = names_of(disk)
    assert len(names) > 3
    name = names[1]
    data = disk.read(name.file)
    everything = list(range(1, BATCHES * PER_BATCH + 1))
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 0x04
        recovered = recovered_from(disk, {name.file: bytes(flipped)}, trust_footers=False)
        assert recovered.damage.damaged_files == [name.file], position
        assert recovered.damage.cut_bytes == 0
        missing = set(everything) - set(sequences(recovered))
        assert len(missing) <= 1
        assert recovered.damage.lost == ({7: 1} if missing else {})
        assert recovered.liveness.segments[name.base].damaged


def test_a_damaged_footer_or_trailer_costs_a_scan_and_nothing_else() -> None:
    disk, _ = written(segment_bytes=768)
    name = names_of(disk)[1]
    data = disk.read(name.file)
    footer_at = data.rindex(bytes([RecordType.FOOTER, RecordType.SEALED]))
    for position in range(footer_at, len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 0x40
        recovered = recovered_from(disk, {name.file: bytes(flipped)})
        assert sequences(recovered) == list(range(1, BATCHES * PER_BATCH + 1))
        assert recovered.damage.damaged_files == [name.file]
        assert recovered.damage.lost == {}


def test_a_footered_segment_is_not_read_as_a_whole() -> None:
    disk, _ = written(segment_bytes=768, close=True)
    disk.read = lambda file: pytest.fail(f"{file} was read")  # type: ignore[method-assign]
    recovered = recover(disk)
    assert sequences(recovered) == list(range(1, BATCHES * PER_BATCH + 1))
    assert recovered.clean


def test_a_damaged_definition_costs_a_scan_which_knows_exactly_what_else_is_lost() -> None:
    disk, log, queues = opened()
    log.define("queue", b"value")
    for _ in range(5):
        queues.publish()
    log.close()
    pump(log, disk)
    (name,) = names_of(disk)
    data = bytearray(disk.read(name.file))
    data[data.index(b"queue")] ^= 1
    data[queues.indexes[7].entry(2).position + 60] ^= 1
    recovered = recovered_from(disk, {name.file: bytes(data)})
    assert sequences(recovered) == [1, 3, 4, 5]
    assert recovered.damage.lost == {7: 1}
    assert recovered.damage.quarantined_regions == 2
    assert not recovered.clean


@pytest.mark.parametrize("kept", [0, 10, HEADER_BYTES, 200])
def test_a_sealed_segment_whose_end_is_missing_is_damaged(kept: int) -> None:
    disk, _ = written(segment_bytes=768)
    name = names_of(disk)[1]
    for data in (disk.read(name.file)[:kept], disk.read(name.file)[:kept].ljust(768, b"\0")):
        recovered = recovered_from(disk, {name.file: data})
        assert recovered.damage.damaged_files == [name.file]


def test_a_damaged_header_does_not_hide_the_records() -> None:
    for kind in ChecksumKind:
        disk = SimulatedDisk()
        log, _ = open_log(disk, checksum=kind)
        Queues(log).publish()
        pump(log, disk)
        (name,) = names_of(disk)
        disk.flip(name.file, 0)
        recovered = recover(disk)
        assert sequences(recovered) == [1]
        assert recovered.damage.damaged


def test_a_segment_under_another_ones_name_gives_nothing() -> None:
    disk, _ = written()
    (name,) = names_of(disk)
    stranger = name._replace(epoch=name.epoch + 1)
    other = SimulatedDisk()
    data = disk.read(name.file)
    other.perform(CreateFile(stranger.file, len(data)))
    other.perform(Write(stranger.file, 0, [data]))
    recovered = recover(other)
    assert recovered.queues == {}
    assert recovered.damage.cut_bytes > 0


def test_entries_come_back_with_all_that_they_were_published_with() -> None:
    disk, log, _ = opened()
    content = Content(b"\x01e\x01k", b"header", b"body")
    high = first_sequence(1, 9)
    log.publish([Entry(7, high, expires_at_ms=123456789012, priority=9), Entry(8, 1)], content)
    log.define("queue seven", b"durable")
    pump(log, disk)
    recovered = recover(disk)
    ((nine, index),) = recovered.queues[7].items()
    assert nine == 9
    assert index.entry(high) == (content.position, 4, content.stored, 123456789012)
    assert recovered.queues[8][0].entry(1) == (content.position, 4, content.stored, 0)
    assert recovered.definitions == {"queue seven": b"durable"}
    assert recovered.liveness.segments[0].live_bytes == 2 * content.stored


def test_an_entry_below_one_that_was_there_is_left_out_and_said() -> None:
    disk, log, queues = opened()
    queues.publish()
    queues.publish()
    log.publish([Entry(7, 1)], Content(b"", b"", b"again"))
    pump(log, disk)
    recovered = recover(disk)
    assert sequences(recovered) == [1, 2]
    assert recovered.damage.misplaced == 1
    assert recovered.damage.damaged


def test_the_epoch_rises_at_each_start_also_at_one_that_was_cut_short() -> None:
    disk = SimulatedDisk()
    epochs = []
    for operations in (3, 100, 4, 5, 100):
        disk.fail_at(operations)
        try:
            epochs.append(open_log(disk)[1].epoch)
        except OSError:
            epochs.append(0)
        disk.crash(Crash.KEEP)
    started = [epoch for epoch in epochs if epoch]
    assert len(started) == 2
    assert started[0] < started[1]


def test_an_unclean_start_marks_everything_for_good_and_a_clean_one_only_what_came_back() -> None:
    disk, _ = written(segment_bytes=768)
    log, recovered = open_log(disk, segment_bytes=768)
    assert redelivered(recovered) == sequences(recovered)
    queues = Queues(log, recovered)
    while queues.indexes[7].ready > 3:
        queues.ack()
    for _ in range(10):  # enough for several segments
        queues.publish()
    for _ in range(4):
        last = queues.take()
    log.requeue(7, last[0], last[1])
    queues.indexes[7].requeue(last[0])
    log.close()
    pump(log, disk)
    for _ in range(2):
        log, recovered = open_log(disk, segment_bytes=768)
        assert recovered.clean
        assert redelivered(recovered) == [13, 14, 15, 16]
        Queues(log, recovered)
        log.close()
        pump(log, disk)


def test_marks_outlive_the_segment_that_was_in_use_at_the_unclean_stop() -> None:
    disk, _ = written(segment_bytes=768)
    last = names_of(disk)[-1]
    log, recovered = open_log(disk, segment_bytes=768)
    queues = Queues(log, recovered)
    first = queues.take()
    while queues.indexes[7].ready:
        queues.ack()
    for _ in range(30):
        queues.publish()
        queues.ack()
        pump(log, disk)
    assert last not in names_of(disk)
    log.close()
    pump(log, disk)
    queues.indexes[7].requeue(first[0])
    log, recovered = open_log(disk, segment_bytes=768)
    assert recovered.clean
    assert columns_of(recovered) == [(1, EntryState.REDELIVERED)]


# Large messages


def chunked() -> tuple[SimulatedDisk, int]:
    """Three messages, the second one in chunks, each in a batch of its own; and where that one
    begins."""
    disk, log, queues = opened(segment_bytes=2 << 20)
    queues.publish()
    pump(log, disk)
    position = queues.publish(3 * CHUNK_BYTES + 7).position
    pump(log, disk)
    queues.publish()
    pump(log, disk)
    return disk, position


def test_a_message_that_is_torn_between_its_chunks_is_cut_as_a_whole() -> None:
    disk, position = chunked()
    (name,) = names_of(disk)
    data = disk.read(name.file)
    for chunk in range(3):
        for more in (70, 90, 5000):
            cut = position + chunk * (CHUNK_BYTES + 9) + more
            torn = data[:cut] + bytes(len(data) - cut)
            recovered = recovered_from(disk, {name.file: torn})
            assert sequences(recovered) == [1]
            assert not recovered.damage.damaged
            assert recovered.tail == position
            assert recovered.damage.cut_bytes >= cut - position


def test_a_flipped_bit_in_a_chunk_loses_that_message_only() -> None:
    disk, position = chunked()
    (name,) = names_of(disk)
    for chunk in range(4):
        flipped = bytearray(disk.read(name.file))
        flipped[position + chunk * (CHUNK_BYTES + 9) + 75] ^= 1
        recovered = recovered_from(disk, {name.file: bytes(flipped)})
        assert sequences(recovered) == [1, 3]
        assert recovered.damage.damaged_files == [name.file]
        assert recovered.damage.lost == {7: 1}


# Files that are missing, or too many


def test_a_missing_segment_is_noticed_and_a_deleted_one_is_not_missed() -> None:
    disk, log, queues = opened(segment_bytes=768)
    for _ in range(12):
        queues.publish()
        pump(log, disk)
    for _ in range(4):
        queues.ack()
    for _ in range(12):
        queues.publish()
        pump(log, disk)
    names = names_of(disk)
    assert names[0].base > 0 or len(names) > 4
    assert recover(disk).damage.missing_segments == []
    gone = names[2]
    disk.perform(DeleteFile(gone.file))
    recovered = recover(disk)
    assert recovered.damage.missing_segments == [gone.base]
    assert recovered.damage.damaged
    assert not recovered.clean


def rewritten() -> tuple[SimulatedDisk, dict[str, bytes], list[SegmentName]]:
    """A disk on which neighbours were rewritten into one; the replaced files as they were; and
    the names that are there now."""
    disk, log, queues = opened(segment_bytes=1024)
    log.define("queue", b"value")
    for _ in range(30):
        queues.publish(queue_id=8)
        for _ in range(4):
            queues.publish()
            queues.ack()
        pump(log, disk)
    for _ in range(29):
        queues.ack(8)
        pump(log, disk)
    before = {name.file: disk.read(name.file) for name in names_of(disk)}
    while (plan := log.begin_rewrite()) is not None:
        before |= {source.name.file: disk.read(source.name.file) for source in plan.sources}
        log.finish_rewrite(plan, build(plan, disk))
        pump(log, disk)
    return disk, before, names_of(disk)


def test_what_a_rewritten_segment_stands_for_is_left_out_and_deleted() -> None:
    disk, before, names = rewritten()
    assert any(name.generation for name in names)
    expected = recover(disk)
    replaced = [file for file in before if file not in disk.list_files()]
    covering = [name for name in names if name.generation]
    for file in replaced:
        name = SegmentName.parse(file)
        assert name is not None
        if any(each.base == name.base for each in covering):
            disk.perform(CreateFile(file, len(before[file])))
            disk.perform(Write(file, 0, [before[file]]))
    recovered = recover(disk)
    assert sequences(recovered, 8) == sequences(expected, 8) == [30]
    assert recovered.damage == expected.damage
    assert [use.name for use in recovered.liveness] == [use.name for use in expected.liveness]
    assert len(recovered.leftover) > 1
    open_log(disk, segment_bytes=1024)
    assert not set(recovered.leftover) - {"spare"} & set(disk.list_files())


def test_a_rewritten_segment_with_a_damaged_header_leaves_its_source_in_place() -> None:
    disk, log, queues = opened(segment_bytes=1024)
    for _ in range(12):
        queues.publish()
        pump(log, disk)
    for _ in range(4):
        queues.ack()
    pump(log, disk)
    plan = log.begin_rewrite()
    assert plan is not None
    build(plan, disk)
    data = bytearray(disk.read(plan.name.copy_file))
    data[20] ^= 1
    recovered = recovered_from(disk, {plan.name.copy_file: bytes(data)})
    assert plan.name.copy_file in recovered.leftover
    disk.perform(CreateFile(plan.name.file, len(data)))
    disk.perform(Write(plan.name.file, 0, [bytes(data)]))
    recovered = recover(disk)
    assert recovered.damage.damaged_files == [plan.name.file]
    assert sequences(recovered) == list(range(5, 13))


def test_headers_say_which_epoch_created_the_segment() -> None:
    disk, _ = written(segment_bytes=768)
    open_log(disk, segment_bytes=768)
    for name in names_of(disk):
        header = SegmentHeader.decode(disk.read(name.file))
        assert header is not None
        assert header.name == name
    assert {name.epoch for name in names_of(disk)} == {1, 2}
