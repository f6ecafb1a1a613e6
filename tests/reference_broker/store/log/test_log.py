"""The log as a journal: its records, their order, its batches, moves, deletions and its end."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from random import Random

import pytest

from reference_broker.core.journal.journal import Entry, Journal
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Log, open_log
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
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import SPARE_FILE
from reference_broker.store.log.publish_run import BODY_PIECE_BYTES
from reference_broker.store.start.recovery import recover
from reference_broker.testing.lone_log import (
    LoneQueues,
    adopted,
    filled,
    of_type,
    opened,
    pump,
    records,
    segments,
    sequences,
    settle_down,
)


def kinds(disk: SimulatedDisk, skip: int = 4) -> list[RecordType]:
    """The types of the newest segment's records, without those of the start."""
    return [RecordType(found.payload[0]) for found in records(disk)][skip:]


def test_it_is_a_journal() -> None:
    journal: Journal = Log()
    assert journal.epoch == 1


def test_a_start_is_durable_with_all_definitions_before_anything_else() -> None:
    _, disk, _ = opened()
    assert kinds(disk, skip=0) == [
        RecordType.SYNCED,
        RecordType.START,
        RecordType.CENSUS,
        RecordType.DEFINITIONS,
    ]
    shape = [type(operation) for operation in disk.performed]
    created = [CreateFile, RenameFile, Write, Sync, SyncDirectory]
    assert shape == [*created, Write, Sync, CreateSpare]


def test_nothing_pending_is_no_batch_and_everything_is_promised() -> None:
    log, _, _ = opened()
    assert log.take_batch() is None
    assert log.synced == log.tail


def test_one_batch_at_a_time_and_synced_rises_only_when_it_is_given_back() -> None:
    log, _, queues = opened()
    before = log.synced
    queues.publish()
    end = log.tail
    batch = log.take_batch()
    assert batch is not None
    queues.publish()
    assert log.take_batch() is None
    assert log.synced == before
    log.batch_synced(batch)
    assert log.synced == end < log.tail
    following = log.take_batch()
    assert following is not None
    assert following.end == log.tail


@pytest.mark.parametrize("size", [0, 1, BODY_PIECE_BYTES, BODY_PIECE_BYTES + 1, record.CHUNK_BYTES])
@pytest.mark.parametrize("queue_ids", [(7,), (7, 8)])
def test_positions_are_where_the_records_are(size: int, queue_ids: Sequence[int]) -> None:
    log, disk, queues = opened()
    contents = [queues.publish(size, queue_ids) for _ in range(3)]
    pump(log, disk)
    found = of_type(RecordType.PUBLISH, disk)
    assert [item.position for item in found] == [each.position for each in contents]
    assert found[-1].end == log.tail == log.synced
    assert record.decode_message(found[0].payload).body == bytes(size)
    size_bytes = found[0].end - found[0].position
    assert {each.stored for each in contents} == {size_bytes // len(queue_ids)}


def test_acks_in_runs_are_the_records_of_acks_one_by_one() -> None:
    """Over several segments, with the one in use among them."""
    written = []
    for in_runs in (True, False):
        log, disk, queues = opened(segment_bytes=20_000)
        contents = [queues.publish(1_000) for _ in range(50)]
        pump(log, disk)
        folded = 0
        place = 0
        while place < len(contents):
            queues.ack()
            place += 1
            if in_runs and (rest := contents[place : place + 7]):
                count = log.ack_run(7, 1 + place, rest)
                for _ in range(count):
                    queues.indexes[7].settle(queues.take())
                place += count
                folded += count
        assert folded > 30 or not in_runs
        queues.publish()
        pump(log, disk)
        written.append(
            [(each.position, bytes(each.payload)) for each in of_type(RecordType.ACK, disk)]
        )
    assert written[0] == written[1]


def test_a_large_body_follows_its_message_in_chunks_that_are_not_copied() -> None:
    log, disk, queues = opened()
    body = bytearray(Random(0).randbytes(2 * record.CHUNK_BYTES + 5))
    content = Content(b"\x01e\x01k", b"header", body)
    log.publish([Entry(7, 1), Entry(8, 1)], content)
    queues.enter([Entry(7, 1), Entry(8, 1)], content)
    batch = log.take_batch()
    assert batch is not None
    views = [
        piece
        for operation in batch.operations
        if isinstance(operation, Write)
        for piece in operation.pieces
        if isinstance(piece, memoryview)
    ]
    assert all(view.obj is body for view in views)
    for operation in batch.operations:
        disk.perform(operation)
    (message,) = of_type(RecordType.PUBLISH, disk)
    assert record.decode_message(message.payload).chunks == 3
    chunks = of_type(RecordType.CHUNK, disk)
    assert b"".join(bytes(chunk.payload[1:]) for chunk in chunks) == body
    assert [message.end, *(chunk.end for chunk in chunks)] == [
        *(chunk.position for chunk in chunks),
        log.tail,
    ]
    assert content.stored == (log.tail - content.position) // 2


def test_acks_are_folded_per_queue() -> None:
    log, disk, queues = opened()
    for _ in range(10):
        queues.publish(queue_ids=(7, 8))
    for _ in range(10):
        queues.ack(7)
        queues.ack(8)
    log.ack(7, 20, 100, 0)
    pump(log, disk)
    (ack,) = of_type(RecordType.ACK, disk)
    assert record.decode_ranges(ack.payload) == [(7, 1, 1, 10), (8, 1, 1, 10), (7, 1, 20, 20)]
    assert ack.end == log.tail


def test_there_is_one_order() -> None:
    log, disk, _ = opened()
    log.ack(7, 1, 100, 0)
    log.publish([Entry(7, 9)], Content(b"", b"", b""))
    log.ack(7, 2, 100, 0)
    log.requeue(7, 3, 100)
    log.ack(7, 3, 100, 0)
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
    log, disk, _ = opened()
    log.ack(7, 1, 100, 0)
    assert log.tail > log.synced
    log.ack(7, 2, 100, 0)
    assert log.tail > log.synced
    pump(log, disk)
    assert log.tail == log.synced


def test_what_the_headers_call_redelivered_is_not_requeued_again() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    LoneQueues(log).publish()
    pump(log, disk)
    log, recovered = open_log(disk)
    before = log.tail
    adopted(log, recovered)
    log.requeue(7, 1, recovered.queues[7][0].entry(1).position)
    assert log.tail == before


# The spare


def test_without_room_for_a_spare_it_is_missing_until_it_is_tried_again() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    assert not log.spare_missing
    for _ in range(4):
        queues.publish(200)
    batch = log.take_batch()
    assert batch is not None
    assert isinstance(batch.operations[-1], CreateSpare)
    for operation in batch.operations[:-1]:
        disk.perform(operation)
    batch.spare_missing = True
    log.batch_synced(batch)
    assert log.spare_missing
    queues.publish()
    batch = pump(log, disk)
    assert batch is not None
    assert CreateSpare not in map(type, batch.operations)
    log.retry_spare()
    log.retry_spare()
    batch = pump(log, disk)
    assert batch is not None
    assert batch.operations == [CreateSpare(SPARE_FILE, 1024)]
    assert not log.spare_missing


@pytest.mark.parametrize("missing", [False, True])
def test_a_segment_that_is_begun_while_the_spare_is_made_becomes_that_one(missing: bool) -> None:
    log, disk, queues = opened(segment_bytes=1024)
    for _ in range(4):
        queues.publish(200)
    batch = log.take_batch()
    assert batch is not None
    for _ in range(4):
        queues.publish(200)
    for operation in batch.operations:
        if not (missing and isinstance(operation, CreateSpare)):
            disk.perform(operation)
    batch.spare_missing = missing
    log.batch_synced(batch)
    following = log.take_batch()
    assert following is not None
    used = [each.file for each in following.operations if isinstance(each, RenameFile)]
    assert used == ([] if missing else [SPARE_FILE])
    for operation in following.operations:
        disk.perform(operation)
    assert sequences(disk) == list(range(1, 9))


# Deletion


def test_a_dead_segment_is_deleted_after_its_removed_record_is_synced() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    first = segments(disk)[0]
    filled(log, disk, queues)
    assert first not in disk.list_files()
    index = disk.performed.index(DeleteFile(first))
    write, sync = disk.performed[index - 2 : index]
    assert isinstance(sync, Sync)
    assert isinstance(write, Write)
    assert bytes([RecordType.REMOVED]) + bytes(8) in write.pieces
    assert disk.performed[index + 1] == SyncDirectory()


def test_deletions_alone_make_a_batch() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    queues.publish(300)
    queues.publish(700)
    queues.ack()  # in the second segment
    queues.publish(700)
    queues.ack()  # in the third
    pump(log, disk)
    count = len(segments(disk))
    batch = pump(log, disk)
    assert batch is not None
    shape = [type(operation) for operation in batch.operations]
    assert shape == [Write, Sync, DeleteFile, SyncDirectory]
    assert len(segments(disk)) == count - 1
    settle_down(log, disk)
    assert log.take_batch() is None


def test_a_damaged_segment_is_put_aside_instead() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    file = segments(disk)[0]
    log.damaged(100)
    log.damaged(1 << 40)  # nobody's
    filled(log, disk, queues)
    assert RenameFile(file, file + ".quarantine") in disk.performed
    assert not recover(disk).damage.damaged


def test_definitions_are_carried_on_when_that_frees_more_than_it_costs() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    log.define("queue", b"value")
    for _ in range(5):
        filled(log, disk, queues)
    assert len(segments(disk)) <= 2
    assert recover(disk).definitions == {"queue": b"value"}


def test_definitions_do_not_keep_a_segment_from_being_rewritten_for_ever() -> None:
    log, disk, queues = opened(segment_bytes=4096)
    for step in range(12):
        log.define(f"queue {step % 3}", b"value")
        queues.publish(100, (8,))  # nobody takes it
        filled(log, disk, queues)
        settle_down(log, disk)
    assert disk.size_bytes < 4 * 4096 + 12 * 300
    assert sequences(disk, 8) == list(range(1, 13))


def test_definitions_as_large_as_a_segment_are_not_written_over_and_over() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    log.define("queue", bytes(900))
    for _ in range(5):
        filled(log, disk, queues)
    snapshots = sum(
        bytes(piece[:1]) == bytes([RecordType.DEFINITIONS]) and len(piece) > 900
        for each in disk.performed
        if isinstance(each, Write)
        for piece in each.pieces
    )
    assert snapshots <= 4
    assert recover(disk).definitions == {"queue": bytes(900)}


# Moves


def test_a_move_has_the_body_and_ends_its_source() -> None:
    log, disk, queues = opened()
    source = queues.publish(9000)
    moved = Content(b"", b"dead", source.body)
    log.move(7, queues.take(), source.position, source.stored, [Entry(8, 1)], moved)
    queues.indexes[7].settle(1)
    queues.index(8)
    queues.enter([Entry(8, 1)], moved)
    pump(log, disk)
    (found,) = of_type(RecordType.MOVE, disk)
    assert found.position == moved.position
    assert moved.stored == found.end - found.position
    assert record.decode_message(found.payload)[1:] == (b"", b"dead", bytes(9000), 9000)
    assert (sequences(disk, 7), sequences(disk, 8)) == ([], [1])


def test_a_message_retried_for_ever_does_not_keep_the_past() -> None:
    log, disk, queues = opened(segment_bytes=1024)
    content = queues.publish(100)
    for sequence in range(2, 60):
        source, content = content, Content(b"", b"", bytes(100))
        queues.take()
        target = Entry(7, sequence)
        log.move(7, sequence - 1, source.position, source.stored, [target], content)
        queues.indexes[7].settle(sequence - 1)
        queues.enter([target], content)
        pump(log, disk)
    settle_down(log, disk)
    assert len(segments(disk)) <= 3
    assert sequences(disk) == [59]


# Closing


def test_a_clean_close_is_complete_only_after_its_sync() -> None:
    log, disk, _ = opened()
    log.ack(7, 1, 100, 0)
    log.close()
    pump(log, disk)
    assert kinds(disk) == [RecordType.SYNCED, RecordType.ACK, RecordType.CLOSED]
    (file,) = segments(disk)
    assert [type(each) for each in disk.performed[-4:]] == [Write, Sync, TruncateFile, Sync]
    assert len(disk.read(file)) == log.tail
    with pytest.raises(AssertionError):
        log.publish([Entry(7, 1)], Content(b"", b"", b""))


def test_a_close_whose_sync_failed_was_no_clean_stop() -> None:
    log, disk, queues = opened()
    queues.publish()
    log.close()
    disk.fail_at(2)
    batch = log.take_batch()
    assert batch is not None
    with pytest.raises(OSError, match="simulated"):
        for operation in batch.operations:
            disk.perform(operation)
    assert not open_log(disk)[1].clean
    disk.crash(Crash.DROP)
    assert sequences(disk) == [1]


# What is handed on


def test_fetches_wait_until_they_are_taken() -> None:
    log, disk, queues = opened()
    content = queues.publish()
    pump(log, disk)
    (columns,) = queues.live_entries(7, 0, log.tail)
    log.fetch(7, array("Q", columns.sequences), columns.positions)
    (request,) = log.fetches
    assert list(request.positions) == [content.position]


def test_pages_are_behind_the_journal() -> None:
    log, _, _ = opened()
    position = log.page(Content(b"", b"", b"transient"))
    assert position < NOT_STORED
    log.unpage(position)
    assert log.pages.find(position) is None
