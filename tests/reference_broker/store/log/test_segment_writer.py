"""Full segments: complete before the next one is created, never too long, and freed at a roll."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Log
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
from reference_broker.store.format import record
from reference_broker.store.format.checksum import PREFERRED
from reference_broker.store.format.footer import ENTRY_ROOM, read_footer
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import SPARE_FILE, SegmentName
from reference_broker.store.start.recovery import recover
from reference_broker.testing.lone_log import (
    LoneQueues,
    of_type,
    opened,
    pump,
    records,
    segments,
    sequences,
    settle_down,
)


def test_each_batch_starts_with_what_was_synced_before_it() -> None:
    log, disk, queues = opened()
    for _ in range(3):
        queues.publish()
        pump(log, disk)
    synced = of_type(RecordType.SYNCED, disk)
    assert len(synced) == 4
    for found in synced[1:]:
        assert record.decode_synced(found.payload) == found.position


def test_a_full_segment_is_complete_and_synced_before_the_next_is_created() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    for _ in range(10):
        queues.publish(200)
    batch = log.take_batch()
    assert batch is not None
    shape = [type(operation) for operation in batch.operations]
    rolled = [Write, TruncateFile, Sync]
    created = [CreateFile, Write, Sync, SyncDirectory]
    assert shape[:7] == [*rolled, RenameFile, *created[1:]]  # of the spare
    assert shape[7:14] == rolled + created
    assert shape[-3:] == [Write, Sync, CreateSpare]
    for operation in batch.operations:
        disk.perform(operation)
    files = segments(disk)
    assert len(files) > 3
    for file, following in pairwise(files):
        assert records(disk, file)[-1].payload[0] == RecordType.SEALED
        name, next_name = SegmentName.parse(file), SegmentName.parse(following)
        assert name is not None
        assert next_name is not None
        assert name.base + disk.size(file) == next_name.base
        footer = read_footer(disk, name, PREFERRED)
        assert footer is not None
        assert sum(len(group.sequences) for group in footer.groups) == len(
            of_type(RecordType.PUBLISH, disk, file)
        )


def test_a_sealed_segment_has_the_entries_of_every_source() -> None:
    """A start reads no records of it: what its footer leaves out is lost."""
    log, disk, queues = opened(segment_bytes=1024)
    others = LoneQueues(log)
    for _ in range(10):
        queues.publish(100, (7,))
        others.publish(100, (8,))
    pump(log, disk)
    assert len(segments(disk)) > 2
    for trusting in (True, False):
        recovered = recover(disk, trust_footers=trusting)
        found = {
            queue_id: sum(
                len(columns.sequences) for columns in recovered.live_entries(queue_id, 0, 1 << 62)
            )
            for queue_id in (7, 8)
        }
        assert found == {7: 10, 8: 10}


def checked_reservations(disk: SimulatedDisk, spare_bytes: int) -> int:
    """Nothing was written behind the reserved end of any segment; returns their number."""
    reserved = {}
    for each in disk.performed:
        if isinstance(each, CreateFile) and SegmentName.parse(each.file) is not None:
            reserved[each.file] = each.size_bytes
        elif isinstance(each, RenameFile) and each.file == SPARE_FILE:
            reserved[each.new] = spare_bytes
        elif isinstance(each, Write) and each.file in reserved:
            end = each.offset + sum(map(len, each.pieces))
            assert end <= reserved[each.file]
    return len(reserved)


def test_no_segment_is_larger_than_what_was_reserved_for_it() -> None:
    """Whatever goes into the footer: entries, queues, definitions, ranges about others."""
    log, disk, queues = opened(segment_bytes=2048)
    random = Random(1)
    for step in range(600):
        choice = random.random()
        if choice < 0.5:
            queues.publish(random.randrange(90), random.sample(range(20), random.choice((1, 4))))
        elif choice < 0.95:
            full = [each for each, index in queues.indexes.items() if index.ready]
            if full:
                queue_id = random.choice(full)
                sequence = queues.take(queue_id)
                if random.random() < 0.3:
                    entry = queues.indexes[queue_id].entry(sequence)
                    log.requeue(queue_id, sequence, entry.position)
                    queues.indexes[queue_id].requeue(sequence)
                else:
                    queues.ack(queue_id, sequence)
        else:
            log.define(f"key {step}", b"")
        if step % 3 == 0:
            pump(log, disk)
    settle_down(log, disk)
    assert checked_reservations(disk, 2048) > 20


def test_each_queue_takes_room_off_its_segment_for_the_footer() -> None:
    log, disk, queues = opened(segment_bytes=8192)
    for queue_id in range(500):
        queues.publish(0, (queue_id,))
    pump(log, disk)
    assert checked_reservations(disk, 8192) > 4


def test_a_record_larger_than_a_segment_gets_one_of_its_own_size() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    queues.publish(5000)
    queues.publish()
    pump(log, disk)
    sizes = [each.size_bytes for each in disk.performed if isinstance(each, CreateFile)]
    assert len(sizes) == 2
    assert 5000 < sizes[1] < 5700
    assert RenameFile(SPARE_FILE, segments(disk)[-1]) in disk.performed


def perform_and_look(log: Log, disk: SimulatedDisk) -> None:
    """Perform what is pending; a power loss after any operation would leave nothing missing."""
    batch = log.take_batch()
    assert batch is not None
    for operation in batch.operations:
        disk.perform(operation)
        assert not recover(disk.copy()).damage.damaged, operation
    log.batch_synced(batch)


def test_what_is_dead_at_a_roll_goes_before_the_next_segment_is_created() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    for _ in range(8):
        queues.publish(300)
    pump(log, disk)
    dead = segments(disk)[1]
    for _ in range(8):
        queues.ack()
    for _ in range(8):
        queues.publish(300)
    done = len(disk.performed)
    perform_and_look(log, disk)
    performed = disk.performed[done:]
    deleted = performed.index(DeleteFile(dead))
    synced = performed[deleted - 1]
    assert isinstance(synced, Sync)
    assert of_type(RecordType.REMOVED, disk, synced.file)
    behind = performed[performed.index(SyncDirectory(), deleted) + 1]
    assert isinstance(behind, CreateFile | RenameFile)
    assert sequences(disk) == list(range(9, 17))


def test_a_census_does_not_name_a_segment_whose_deletion_is_ordered() -> None:
    """It may be written after the deletion, though it was made before."""
    log, disk, queues = opened(segment_bytes=1024)
    for _ in range(8):
        queues.publish(300)
    pump(log, disk)
    for _ in range(8):
        queues.ack()
    batch = log.take_batch()
    assert batch is not None
    assert DeleteFile in map(type, batch.operations)
    for _ in range(4):
        queues.publish(300)
    for operation in batch.operations:
        disk.perform(operation)
    log.batch_synced(batch)
    perform_and_look(log, disk)


@pytest.mark.parametrize("run", [0, 1, 40])
def test_an_entry_takes_room_off_its_segment_for_the_footer(run: int) -> None:
    log, disk, queues = opened(segment_bytes=64 * 1024)
    while len(segments(disk)) == 1:
        content = queues.publish(0)
        contents = [Content(b"\x01e\x01k", b"header", b"") for _ in range(run)]
        entry = Entry(7, queues.index(7).tail)
        for each in contents[: log.publish_run(entry, contents)]:
            queues.enter([entry], each)
        pump(log, disk)
    first = SegmentName.parse(segments(disk)[0])
    footer = first and read_footer(disk, first, PREFERRED)
    assert footer is not None
    most = 64 * 1024 // (content.stored + ENTRY_ROOM)
    assert 0.6 * most < len(footer.groups[0].sequences) <= most
