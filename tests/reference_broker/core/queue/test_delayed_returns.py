"""What came back and has to wait: when it is ready again, where, and what it costs meanwhile."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def delaying(host: QueueHost, delay_ms: int = 1_000) -> Queue:
    return host.declare("q", requeue_position="back", requeue_delay=delay_ms)


def give_back(queue: Queue, count: int = 1) -> None:
    for _ in range(count):
        lease = queue.get(None)
        assert lease is not None
        queue.requeue([lease])


@pytest.mark.parametrize("header", [HEADER, TRANSIENT])
def test_not_before_its_time(host: QueueHost, header: bytes) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", header=header)
    give_back(queue)
    host.publish(queue, b"2", header=header)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"2"]
    assert (queue.ready, queue.unacked) == (0, 2)
    host.advance(990)
    assert consumer.bodies == [b"2"]
    host.advance(20)
    host.answer_fetches()
    assert consumer.bodies == [b"2", b"1"]
    assert consumer.leases[1].redelivered
    assert queue.unacked == 2


def test_each_at_its_own_time(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", b"2", b"3", header=TRANSIENT)
    for _ in range(3):
        give_back(queue)
        host.advance(100)
    assert queue.ready == 0
    host.advance(710)
    assert queue.ready == 1
    host.advance(100)
    assert queue.ready == 2
    host.advance(100)
    assert queue.ready == 3
    assert queue.unacked == 0


def test_a_stored_message_leaves_memory_meanwhile(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"x" * 5_000, header=encode_header(5_000, Properties(delivery_mode=2)))
    before = queue.memory_bytes
    give_back(queue)
    assert queue.memory_bytes < before - 5_000
    assert queue.unacked_bytes == 5_000
    host.advance(1_010)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert len(consumer.bodies[0]) == 5_000
    queue.ack(consumer.leases[0])
    assert queue.memory_bytes == 0


def test_a_deletion_takes_them_a_purge_does_not(host: QueueHost) -> None:
    queue = delaying(host)
    host.publish(queue, b"1", b"2", header=HEADER)
    give_back(queue)
    assert queue.purge() == 1
    assert queue.unacked == 1
    queue.delete()
    assert (queue.unacked, queue.memory_bytes) == (0, 0)
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.live() == []
    host.advance(10_000)


def test_its_own_expiry_is_looked_at_when_it_is_ready(host: QueueHost) -> None:
    queue = delaying(host, 1_000)
    short = encode_header(1, Properties(delivery_mode=2, expiration="500"))
    host.publish(queue, b"1", header=short)
    give_back(queue)
    host.advance(1_010)
    assert (queue.ready, queue.expired) == (0, 1)
