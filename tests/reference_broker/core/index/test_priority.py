"""Priority levels: order, clamping, and requeue within a level."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.queue_arguments import MAX_PRIORITY
from reference_broker.core.index.index import CHUNK_ENTRIES, QueueIndex
from reference_broker.core.index.priority import LEVEL_SHIFT, first_sequence
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, purge_now
from reference_broker.testing.recording_journal import RECORD_BYTES, RecordingJournal


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def header(priority: int | None) -> bytes:
    return encode_header(1, Properties(priority=priority, delivery_mode=2))


def test_highest_first_and_in_order_within_a_level(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=5)
    for body, priority in ((b"a", 1), (b"b", None), (b"c", 5), (b"d", 1), (b"e", 5), (b"f", 0)):
        host.publish(queue, body, header=header(priority))
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"c", b"e", b"a", b"d", b"b", b"f"]


def test_priorities_above_the_maximum_count_as_it(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=2)
    for body, priority in ((b"a", 2), (b"b", 255), (b"c", 3), (b"d", 2)):
        host.publish(queue, body, header=header(priority))
    assert [x.content.body for _ in range(4) if (x := queue.get(None))] == [b"a", b"b", b"c", b"d"]


def test_without_the_argument_priorities_mean_nothing(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=0)
    for body, priority in ((b"a", 1), (b"b", 9)):
        host.publish(queue, body, header=header(priority))
    assert [x.content.body for _ in range(2) if (x := queue.get(None))] == [b"a", b"b"]


def test_every_level_there_is_keeps_its_count_and_its_leases(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=MAX_PRIORITY)
    for priority in range(MAX_PRIORITY + 1):
        host.publish(queue, b"x", header=header(priority))
    assert queue.ready == queue.ready_bytes == 256
    leases = [lease for _ in range(256) if (lease := queue.get(None))]
    levels = [lease.sequence >> LEVEL_SHIFT for lease in leases]
    assert levels == list(range(MAX_PRIORITY, -1, -1))
    assert leases[0].sequence < 1 << 63, "a sequence fits a signed 64-bit number"
    queue.requeue(leases[10:12])
    for lease in leases[12:]:
        queue.ack(lease)
    assert (queue.ready, queue.unacked, queue.unacked_bytes) == (2, 10, 10)
    assert purge_now(queue) == 2


def test_a_level_is_dense_however_the_levels_alternate(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=4)
    for number in range(CHUNK_ENTRIES):
        host.publish(queue, b"x", header=header(number % 5), settle=False)
    assert queue.levels is not None
    entries = sum(len(c.states) for index in queue.levels.all() for c in index._chunks.values())
    assert entries == CHUNK_ENTRIES


def test_numbers_rise_from_run_to_run_and_levels_do_not_meet() -> None:
    starts = [first_sequence(epoch, level) for level in (0, 1, 255) for epoch in (1, 2, 1 << 22)]
    assert starts == sorted(starts)
    assert {start >> LEVEL_SHIFT for start in starts} == {0, 1, 255}


def test_restored_levels_go_on_in_this_run(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=3)
    host.publish(queue, b"low", b"high", header=header(0))  # so that the journal has them
    journal = host.journal
    assert isinstance(journal, RecordingJournal)
    queue = host.declare("q", max_priority=3)
    low, high = QueueIndex(), QueueIndex()
    low.restore(4, 0, 3, 3 + RECORD_BYTES)
    high.restore((3 << 55) + 2, 1, 4, 4 + RECORD_BYTES)
    queue.restore({0: low, 3: high})
    assert (queue.ready, queue.backlog.absent, queue.backlog.absent_bytes) == (2, 2, 7)
    host.publish(queue, b"new", header=header(3))
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert consumer.bodies == [b"high", b"new", b"low"]
    assert consumer.leases[1].sequence == first_sequence(journal.epoch, 3)


def test_a_level_is_made_when_it_is_first_used(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=255)
    assert queue.indexes() == []
    for priority in (7, 200, 7):
        host.publish(queue, b"x", header=header(priority))
    assert [index.ready for index in queue.indexes()] == [1, 2]
