from __future__ import annotations

from itertools import pairwise

import pytest

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry, Journal
from reference_broker.simulation.disk import SimulatedDisk
from reference_broker.store import Batch, Log, open_log, record
from reference_broker.store.checksum import PREFERRED, checksum_of
from reference_broker.store.log import (
    BODY_PIECE_BYTES,
    MOVE_INLINE_BYTES,
    MOVE_REFERS_BACK_BYTES,
)
from reference_broker.store.ports import (
    CreateFile,
    DeleteFile,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)
from reference_broker.store.record import RecordType
from reference_broker.store.scan import Found, SegmentScan
from reference_broker.store.segment import SEGMENT_BYTES, SegmentName


def content(size: int = 10) -> Content:
    return Content(b"\x01e\x01k", b"header", bytes(size))


def opened(segment_bytes: int = SEGMENT_BYTES) -> tuple[Log, SimulatedDisk]:
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes)
    return log, disk


def pump(log: Log, disk: SimulatedDisk) -> Batch | None:
    batch = log.take_batch()
    if batch is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    return batch


def records(disk: SimulatedDisk, file: str | None = None) -> list[Found]:
    """All records of a segment (the newest one)."""
    file = file or max(disk.list_files())
    name = SegmentName.parse(file)
    assert name is not None
    items = SegmentScan(name, disk.read(file), checksum_of(PREFERRED))
    return [item for item in items if isinstance(item, Found)]


def kinds(disk: SimulatedDisk, skip: int = 3) -> list[RecordType]:
    """The types of the newest segment's records, without those of the start."""
    return [RecordType(found.payload[0]) for found in records(disk)][skip:]


def test_it_is_a_journal() -> None:
    journal: Journal = Log()
    assert journal.epoch == 1


def test_a_start_is_durable_with_all_definitions_before_anything_else() -> None:
    _, disk = opened()
    assert kinds(disk, skip=0) == [RecordType.SYNCED, RecordType.START, RecordType.DEFINITIONS]
    shape = [type(operation) for operation in disk.performed]
    assert shape == [CreateFile, Write, Sync, SyncDirectory, Write, Sync]


def test_nothing_pending_is_no_batch_and_everything_is_promised() -> None:
    log, _ = opened()
    assert log.take_batch() is None
    assert log.synced == log.tail


def test_one_batch_at_a_time_and_synced_rises_only_when_it_is_given_back() -> None:
    log, _ = opened()
    before = log.synced
    log.publish([Entry(7, 1)], content())
    end = log.tail
    batch = log.take_batch()
    assert batch is not None
    log.publish([Entry(7, 2)], content())
    assert log.take_batch() is None
    assert log.synced == before
    log.batch_synced(batch)
    assert log.synced == end < log.tail
    following = log.take_batch()
    assert following is not None
    assert following.end == log.tail


def test_each_batch_starts_with_what_was_synced_before_it() -> None:
    log, disk = opened()
    for sequence in (1, 2, 3):
        log.publish([Entry(7, sequence)], content())
        pump(log, disk)
    synced = [found for found in records(disk) if found.payload[0] == RecordType.SYNCED]
    assert len(synced) == 4
    for found in synced[1:]:
        assert record.decode_synced(found.payload) == found.position


@pytest.mark.parametrize("size", [0, 1, BODY_PIECE_BYTES, BODY_PIECE_BYTES + 1])
@pytest.mark.parametrize("queues", [1, 2])
def test_positions_are_where_the_records_are(size: int, queues: int) -> None:
    log, disk = opened()
    entries = [Entry(queue_id, 1) for queue_id in range(queues)]
    positions = [log.publish(entries, content(size)) for _ in range(3)]
    pump(log, disk)
    found = [item for item in records(disk) if item.payload[0] == RecordType.PUBLISH]
    assert [item.position for item in found] == positions
    assert found[-1].end == log.tail == log.synced
    assert len(record.decode_publish(found[0].payload).body) == size


def test_acks_are_folded_per_queue() -> None:
    log, disk = opened()
    for sequence in range(1, 11):
        log.publish([Entry(7, sequence), Entry(8, sequence)], content())
    for sequence in range(1, 11):
        log.ack(7, sequence, 100)
        log.ack(8, sequence, 100)
    log.ack(7, 20, 100)
    pump(log, disk)
    (ack,) = [item for item in records(disk) if item.payload[0] == RecordType.ACK]
    assert record.decode_ranges(ack.payload) == [(7, 1, 1, 10), (8, 1, 1, 10), (7, 1, 20, 20)]
    assert ack.end == log.tail


def test_there_is_one_order() -> None:
    log, disk = opened()
    log.ack(7, 1, 100)
    log.publish([Entry(7, 9)], content())
    log.ack(7, 2, 100)
    log.requeue(7, 3, 100)
    log.ack(7, 3, 100)
    log.define("key", b"value")
    log.requeue(7, 4, 100)
    pump(log, disk)
    assert kinds(disk) == [
        RecordType.SYNCED,
        RecordType.ACK,
        RecordType.PUBLISH,
        RecordType.ACK,
        RecordType.REQUEUE,
        RecordType.ACK,
        RecordType.DEFINE,
        RecordType.REQUEUE,
    ]


def test_a_promise_for_an_ack_waits_for_its_sync() -> None:
    log, disk = opened()
    log.ack(7, 1, 100)
    assert log.tail > log.synced
    log.ack(7, 2, 100)
    assert log.tail > log.synced
    pump(log, disk)
    assert log.tail == log.synced


def test_a_full_segment_is_synced_before_the_next_is_created() -> None:
    log, disk = opened(segment_bytes=1024)
    for sequence in range(1, 10):
        log.publish([Entry(7, sequence)], content(200))
    batch = log.take_batch()
    assert batch is not None
    shape = [type(operation) for operation in batch.operations]
    rolled = [Write, Sync, CreateFile, Write, Sync, SyncDirectory]
    assert shape[:12] == rolled + rolled
    assert shape[-2:] == [Write, Sync]
    for operation in batch.operations:
        disk.perform(operation)
    files = sorted(disk.list_files())
    for file, following in pairwise(files):
        last = records(disk, file)[-1]
        assert last.payload[0] == RecordType.SEALED
        name = SegmentName.parse(following)
        assert name is not None
        assert last.end == name.base


def test_no_segment_is_larger_than_what_was_reserved_for_it() -> None:
    log, disk = opened(segment_bytes=1024)
    for sequence in range(1, 200):
        position = log.publish([Entry(7, sequence)], content(sequence % 90))
        log.ack(7, 2 * sequence, position)  # never folded
        if sequence % 3 == 0:
            pump(log, disk)
    created = [each for each in disk.performed if isinstance(each, CreateFile)]
    assert len(created) > 10
    assert {each.size_bytes for each in created} == {1024}
    assert all(len(disk.read(file)) == 1024 for file in disk.list_files())


def test_a_record_larger_than_a_segment_gets_one_of_its_own_size() -> None:
    log, disk = opened(segment_bytes=1024)
    log.publish([Entry(7, 1)], content(5000))
    log.publish([Entry(7, 2)], content(10))
    pump(log, disk)
    sizes = [each.size_bytes for each in disk.performed if isinstance(each, CreateFile)]
    assert len(sizes) == 3
    assert 5000 < sizes[1] < 5200
    assert sizes[2] == 1024


def filled(log: Log, disk: SimulatedDisk, sequence: int) -> None:
    """Publish and ack until another segment begins, and let deletions happen."""
    files = set(disk.list_files())
    while set(disk.list_files()) <= files:
        position = log.publish([Entry(9, sequence)], content(300))
        log.ack(9, sequence, position)
        pump(log, disk)
    while pump(log, disk):
        pass


def test_a_dead_segment_is_deleted_and_the_directory_synced() -> None:
    log, disk = opened(segment_bytes=1024)
    first = min(disk.list_files())
    filled(log, disk, 1)
    assert first not in disk.list_files()
    index = disk.performed.index(DeleteFile(first))
    assert Sync in [type(each) for each in disk.performed[index - 3 : index]]
    assert disk.performed[index + 1] == SyncDirectory()


def test_deletions_alone_make_a_batch() -> None:
    log, disk = opened(segment_bytes=1024)
    first = log.publish([Entry(7, 1)], content(300))
    second = log.publish([Entry(7, 2)], content(700))
    log.ack(7, 1, first)  # in the second segment
    log.publish([Entry(7, 3)], content(700))
    log.ack(7, 2, second)  # in the third
    pump(log, disk)
    assert len(disk.list_files()) == 2
    batch = pump(log, disk)
    assert batch is not None
    assert [type(operation) for operation in batch.operations] == [DeleteFile, SyncDirectory]
    assert len(disk.list_files()) == 1
    assert log.take_batch() is None


def test_a_damaged_segment_is_put_aside_instead() -> None:
    log, disk = opened(segment_bytes=1024)
    file = min(disk.list_files())
    log._active.damaged = True
    filled(log, disk, 1)
    assert RenameFile(file, file + ".quarantine") in disk.performed


def test_definitions_are_carried_on_when_that_frees_more_than_it_costs() -> None:
    log, disk = opened(segment_bytes=1024)
    log.define("queue", b"value")
    for sequence in range(5):
        filled(log, disk, sequence)
    assert len(disk.list_files()) <= 2
    assert open_log(disk)[1].definitions == {"queue": b"value"}


def test_definitions_as_large_as_a_segment_are_not_written_over_and_over() -> None:
    log, disk = opened(segment_bytes=1024)
    log.define("queue", bytes(900))
    for sequence in range(5):
        filled(log, disk, sequence)
    snapshots = sum(
        piece[:1] == bytes([RecordType.DEFINITIONS]) and len(piece) > 900
        for each in disk.performed
        if isinstance(each, Write)
        for piece in each.pieces
    )
    assert snapshots <= 4
    assert open_log(disk)[1].definitions == {"queue": bytes(900)}


def move(size: int, back: int = 0) -> record.Move:
    """What is written when a body of ``size`` that lies ``back`` bytes behind is moved."""
    log, disk = opened(segment_bytes=1 << 20)
    position = log.publish([Entry(7, 1)], content(size))
    while log.tail - position < back:
        log.publish([Entry(9, 1)], content(1_000_000))
        pump(log, disk)
    log.move(7, 1, position, [Entry(8, 1)], content(size))
    pump(log, disk)
    (found,) = [item for item in records(disk) if item.payload[0] == RecordType.MOVE]
    moved = record.decode_move(found.payload)
    assert moved.body_position == (record.BODY_INLINE if moved.body is not None else position)
    return moved


def test_a_move_refers_to_a_large_body_and_repeats_a_small_one() -> None:
    assert move(MOVE_INLINE_BYTES).body == bytes(MOVE_INLINE_BYTES)
    assert move(MOVE_INLINE_BYTES + 1).body is None


def test_a_move_repeats_a_body_that_lies_far_back() -> None:
    assert move(MOVE_INLINE_BYTES + 1, back=MOVE_REFERS_BACK_BYTES - 2_000_000).body is None
    assert move(MOVE_INLINE_BYTES + 1, back=MOVE_REFERS_BACK_BYTES).body is not None


def test_a_move_of_a_moved_message_has_the_body_again() -> None:
    log, disk = opened()
    first = log.publish([Entry(7, 1)], content(9000))
    second = log.move(7, 1, first, [Entry(8, 1)], content(9000))
    third = log.move(8, 1, second, [Entry(7, 2)], content(9000))
    pump(log, disk)
    moves = [item for item in records(disk) if item.payload[0] == RecordType.MOVE]
    assert [item.position for item in moves] == [second, third]
    decoded = [record.decode_move(item.payload) for item in moves]
    assert [move.body_position for move in decoded] == [first, record.BODY_INLINE]


def test_a_message_retried_for_ever_does_not_keep_the_past() -> None:
    log, disk = opened(segment_bytes=1024)
    position = log.publish([Entry(7, 1)], content(100))
    for sequence in range(2, 60):
        position = log.move(7, sequence - 1, position, [Entry(7, sequence)], content(100))
        pump(log, disk)
    while pump(log, disk):
        pass
    assert len(disk.list_files()) <= 3


def test_a_clean_close_ends_the_segment_and_gives_the_rest_back() -> None:
    log, disk = opened()
    log.ack(7, 1, 100)
    log.close()
    pump(log, disk)
    assert kinds(disk) == [RecordType.SYNCED, RecordType.ACK, RecordType.CLOSED]
    (file,) = disk.list_files()
    assert isinstance(disk.performed[-1], TruncateFile)
    assert len(disk.read(file)) == log.tail
    with pytest.raises(AssertionError):
        log.publish([Entry(7, 1)], content())


def test_a_message_that_nobody_takes_keeps_its_segment_and_no_other() -> None:
    log, disk = opened(segment_bytes=2_000)
    stuck = log.publish([Entry(7, 1)], content(100))
    came_back = log.publish([Entry(7, 2)], content(100))
    positions = {}
    for sequence in range(3, 500):
        positions[sequence] = log.publish([Entry(7, sequence)], content(100))
        if sequence == 50:
            log.requeue(7, 2, came_back)
        if sequence >= 10:  # most acks are about the segment before
            log.ack(7, sequence - 7, positions.pop(sequence - 7))
        pump(log, disk)
    for sequence, position in positions.items():
        log.ack(7, sequence, position)
    for _ in range(4):
        pump(log, disk)
    assert len(disk.list_files()) <= 4
    log.close()
    pump(log, disk)
    _, recovered = open_log(disk)
    assert [
        (entry.sequence, entry.content.position, entry.redelivered)
        for entry in recovered.entries[7]
    ] == [(1, stuck, False), (2, came_back, True)]
