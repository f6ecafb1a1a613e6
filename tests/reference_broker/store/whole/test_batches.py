"""The log's batches: their bound in bytes, and acks that nobody waits for."""

from __future__ import annotations

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Batch, Log, open_log
from reference_broker.store.disk.ports import DeleteFile, RenameFile, Sync, Write
from reference_broker.store.format.record import RecordType, decode_synced
from reference_broker.store.liveness.rewrite_plan import RewritePlan
from reference_broker.store.log.segment_writer import BATCH_BYTES
from reference_broker.store.rewrite.rewrite import build
from reference_broker.testing.lone_log import (
    LoneQueues,
    filled,
    of_type,
    pump,
    records,
    sequences,
)

BOUND = 5_000


def bounded(
    segment_bytes: int = 60_000, batch_bytes: int = BOUND
) -> tuple[Log, SimulatedDisk, LoneQueues]:
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes, batch_bytes=batch_bytes)
    pump(log, disk)
    return log, disk, LoneQueues(log)


def performed(log: Log, disk: SimulatedDisk) -> Batch | None:
    """One batch, as the log would have it: nobody waits for more than for its messages."""
    batch = log.take_batch()
    if batch is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    return batch


def all_of(log: Log, disk: SimulatedDisk) -> list[Batch]:
    batches = []
    while (batch := performed(log, disk)) is not None:
        batches.append(batch)
    return batches


# The bound


def test_the_bound_of_a_log_is_some_mib() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    queues = LoneQueues(log)
    pump(log, disk)
    for _ in range(9):
        queues.publish(1 << 20)
    batches = all_of(log, disk)
    assert len(batches) == 3
    assert max(batch.size_bytes for batch in batches) <= BATCH_BYTES


@pytest.mark.parametrize("size", [0, 100, 1_500, BOUND - 200, 3 * BOUND])
def test_batches_are_cut_at_records_and_follow_in_order(size: int) -> None:
    log, disk, queues = bounded()
    ends = [log.tail]
    for _ in range(60):
        queues.publish(size)
        ends.append(log.tail)
    log_end = log.tail
    synced = log.synced
    while (batch := performed(log, disk)) is not None:
        assert log.synced == batch.end > synced
        assert batch.end in ends or batch.end >= log_end
        largest = max(BOUND, size + 500)
        assert batch.size_bytes <= largest + 2_000 * (not batch.in_place)
        synced = batch.end
    assert log.synced == log.tail
    assert sequences(disk) == list(range(1, 61))


def test_each_batch_says_what_was_synced_before_it() -> None:
    log, disk, queues = bounded()
    for _ in range(100):
        queues.publish(100)
    batches = all_of(log, disk)
    found = [decode_synced(item.payload) for item in of_type(RecordType.SYNCED, disk)]
    assert len(found) == 1 + len(batches)
    assert found == sorted(found)


def test_a_crash_between_two_parts_leaves_a_prefix() -> None:
    for lived in range(4):
        log, disk, queues = bounded()
        for _ in range(60):
            queues.publish(200)
        for _ in range(lived):
            performed(log, disk)
        known = [
            columns.sequences[row]
            for columns in queues.live_entries(7, 0, log.synced)
            for row in range(len(columns.sequences))
        ]
        assert bool(known) == bool(lived)
        disk.crash(Crash.DROP)
        assert sequences(disk) == known


def test_acks_of_what_is_not_written_yet_come_after_it() -> None:
    log, disk, queues = bounded()
    for _ in range(60):
        queues.publish(200)
    for _ in range(50):
        queues.ack()
    all_of(log, disk)
    assert sequences(disk) == list(range(51, 61))


def test_the_footer_and_its_room_stay_what_they_are() -> None:
    """Many small segments, each a few batches long."""
    log, disk, queues = bounded(segment_bytes=12_000, batch_bytes=3_000)
    for number in range(400):
        queues.publish(150, (7, 8) if number % 3 else (8,))
        if number % 2:
            queues.ack(8)
        if number % 50 == 0:
            all_of(log, disk)
    all_of(log, disk)
    for queue_id, index in queues.indexes.items():
        alive = [each for run in index.live_columns(queue_id, 0, 1 << 62) for each in run.sequences]
        assert sequences(disk, queue_id) == alive


def test_a_spare_is_there_when_its_batch_was_performed_and_not_before() -> None:
    """Batches that were cut go first: none of them may count as the one that makes it."""
    log, disk, queues = bounded(segment_bytes=8_192, batch_bytes=2_000)
    for _ in range(300):
        queues.publish(300)
    batches = all_of(log, disk)
    assert any(isinstance(each, RenameFile) for batch in batches for each in batch.operations)
    assert log.synced == log.tail


def test_a_start_with_more_definitions_than_a_batch_has_them_all() -> None:
    log, disk, _ = bounded()
    for number in range(200):
        log.define(f"key {number}", bytes(100))
    all_of(log, disk)
    again, recovered = open_log(disk, segment_bytes=60_000, batch_bytes=BOUND)
    assert len(recovered.definitions) == 200
    assert again.synced == again.tail


# The bound, and what is due on the disk beside the records


def with_a_copy(size: int) -> tuple[Log, SimulatedDisk, LoneQueues, RewritePlan]:
    """A copy that only waits for its name, a segment that nobody needs any more, and a pending
    batch with one message of ``size``."""
    log, disk, queues = bounded(segment_bytes=8_192)
    for _ in range(3):
        queues.publish(100, (8,))
        filled(log, disk, queues)
    plan = log.begin_rewrite()
    assert plan is not None
    log.finish_rewrite(plan, build(plan, disk))
    full = log.tail + 8_192
    while log.tail < full:
        queues.publish(300, (9,))
        queues.ack(9)
    while log.synced < plan.tail:
        log.awaited = log.tail
        performed(log, disk)
    queues.publish(size)
    return log, disk, queues, plan


def test_what_is_due_beside_the_records_counts_with_the_batch_that_has_it() -> None:
    """The record that names a deleted segment may be the one too many in a batch. The batch that
    was cut there has neither the deletion nor the copy's name: where it counted for them, messages
    were looked for in a file that was not there yet, and were given up for lost."""
    cut = 0
    for size in range(4_000, BOUND, 20):
        print(f"size {size}")
        log, disk, queues, plan = with_a_copy(size)
        batches = 0
        while (batch := performed(log, disk)) is not None:
            batches += 1
            files = disk.list_files()
            first = log.source_of(queues.indexes[8].entry(1).position)
            assert first is not None
            assert first.name.file in files
            gone = {each.name.file for each in batch.removed}
            assert gone.isdisjoint(files)
            cut += batches == 1 and plan.name.file not in files
        assert plan.name.file in disk.list_files()
        assert sequences(disk, 8) == [1, 2, 3]
    assert cut


# Acks that nobody waits for


def published(count: int = 10) -> tuple[Log, SimulatedDisk, LoneQueues]:
    log, disk, queues = bounded()
    for _ in range(count):
        queues.publish()
    all_of(log, disk)
    assert log.synced == log.tail
    return log, disk, queues


def shape(batch: Batch | None) -> list[type]:
    assert batch is not None
    return [type(operation) for operation in batch.operations]


def test_acks_alone_are_written_and_not_synced() -> None:
    log, disk, queues = published()
    synced = log.synced
    queues.ack()
    batch = performed(log, disk)
    assert shape(batch) == [Write]
    assert batch is not None
    assert batch.in_place
    assert log.synced == batch.end == synced < log.tail
    assert log.sync_is_due
    assert performed(log, disk) is None, "it is written"
    killed, power_lost = disk, disk.copy()
    power_lost.crash(Crash.DROP)
    assert sequences(killed) == list(range(2, 11)), "a killed process has handed it over"
    assert sequences(power_lost) == list(range(1, 11))


def test_requeues_alone_are_as_acks() -> None:
    log, disk, queues = published()
    sequence = queues.take()
    position = queues.indexes[7].entry(sequence).position
    queues.indexes[7].requeue(sequence)
    log.requeue(7, sequence, position)
    assert shape(performed(log, disk)) == [Write]


def test_the_next_publish_syncs_them() -> None:
    log, disk, queues = published()
    queues.ack()
    performed(log, disk)
    queues.publish()
    assert shape(performed(log, disk)) == [Write, Sync]
    assert log.synced == log.tail
    assert not log.sync_is_due
    disk.crash(Crash.DROP)
    assert sequences(disk) == list(range(2, 12))


@pytest.mark.parametrize("what", ["publish", "publish run", "define", "move", "page"])
def test_anything_but_acks_is_synced_at_once(what: str) -> None:
    log, disk, queues = published()
    queues.ack()
    content = Content(b"\x01e\x01k", b"header", b"x")
    entry = Entry(7, queues.index(7).tail)
    if what == "publish":
        queues.publish()
    elif what == "publish run":
        log.publish_run(entry, [content])
        queues.enter([entry], content)
    elif what == "define":
        log.define("key", b"value")
    elif what == "move":
        sequence = queues.take()
        position, _, stored, _ = queues.indexes[7].entry(sequence)
        log.move(7, sequence, position, stored, [entry], content)
        queues.indexes[7].settle(sequence)
        queues.enter([entry], content)
    else:
        log.page(content)
    expected = [Write] if what == "page" else [Write, Sync]
    assert shape(performed(log, disk)) == expected


@pytest.mark.parametrize("written", [False, True])
def test_a_promise_at_an_ack_is_synced_for(written: bool) -> None:
    """Also when the ack is written already, and nothing else comes."""
    log, disk, queues = published()
    queues.ack()
    if written:
        performed(log, disk)
    log.awaited = log.tail
    assert shape(performed(log, disk)) == ([Sync] if written else [Write, Sync])
    assert log.synced == log.tail
    disk.crash(Crash.DROP)
    assert sequences(disk) == list(range(2, 11))


def test_a_promise_that_was_kept_asks_for_nothing() -> None:
    log, disk, queues = published()
    queues.publish()
    log.awaited = log.tail
    all_of(log, disk)
    queues.ack()
    assert shape(performed(log, disk)) == [Write]


def test_a_promise_made_while_they_are_on_their_way() -> None:
    log, disk, queues = published()
    queues.ack()
    batch = log.take_batch()
    assert batch is not None
    log.awaited = log.tail
    queues.ack()
    for operation in batch.operations:
        disk.perform(operation)
    log.batch_synced(batch)
    assert log.synced < log.awaited
    assert shape(performed(log, disk)) == [Write, Sync]


def test_they_are_synced_when_that_is_asked_for_and_once() -> None:
    log, disk, queues = published()
    log.sync_soon()
    assert log.take_batch() is None, "nothing is due"
    queues.ack()
    performed(log, disk)
    log.sync_soon()
    assert shape(performed(log, disk)) == [Sync]
    assert log.synced == log.tail
    queues.ack()
    assert shape(performed(log, disk)) == [Write], "asked for once"


def test_a_segment_goes_only_when_the_acks_that_emptied_it_are_synced() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=4_096)
    queues = LoneQueues(log)
    for _ in range(60):
        queues.publish(100)
    all_of(log, disk)
    deletions = unsynced = 0
    for _ in range(60):
        queues.ack()
        done = shape(performed(log, disk))
        unsynced += done == [Write]
        if DeleteFile in done:
            deletions += 1
            assert Sync in done[: done.index(DeleteFile)]
            assert log.synced == log.tail
    assert deletions
    assert unsynced


def test_a_roll_syncs_what_was_written_before() -> None:
    log, disk, queues = bounded(segment_bytes=4_096)
    queues.publish()
    all_of(log, disk)
    queues.ack()
    performed(log, disk)
    first = len(disk.list_files())
    while len(disk.list_files()) == first:
        queues.publish(500)
        performed(log, disk)
    disk.crash(Crash.DROP)
    assert 1 not in sequences(disk)


def test_a_clean_end_syncs_them() -> None:
    log, disk, queues = published()
    queues.ack()
    performed(log, disk)
    log.close()
    all_of(log, disk)
    assert log.synced == log.tail
    disk.crash(Crash.DROP)
    assert records(disk)
    _, recovered = open_log(disk)
    assert recovered.clean
