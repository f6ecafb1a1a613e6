"""A queue that was deleted holds nothing, and answers what others still ask of it."""

from __future__ import annotations

import gc

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now

PERSISTENT = encode_header(1, Properties(delivery_mode=2))


def queues_alive() -> int:
    return sum(type(each) is Queue for each in gc.get_objects())


def test_it_is_freed_by_its_reference_count() -> None:
    host = QueueHost()
    before = queues_alive()
    gc.disable()
    try:
        queue = host.declare("q", expires=1_000, message_ttl=500, queue_type="quorum")
        host.publish(queue, b"a", b"b", header=PERSISTENT)
        queue.requeue([queue.get(None)] if queue.ready else [])  # type: ignore[list-item]
        delete_now(queue)
        host.settle()
        del queue
        host.queues.clear()
        assert queues_alive() == before
    finally:
        gc.enable()


def test_it_answers_who_holds_it_still() -> None:
    host = QueueHost()
    queue = host.declare("q", message_ttl=500)
    consumer = LoneConsumer(credit=1)
    queue.add_consumer(consumer)
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    delete_now(queue)
    host.settle()
    assert (queue.ready, queue.unacked, queue.memory_bytes) == (0, 0, 0)
    assert (queue.backlog.absent, queue.backlog.resident_bytes, len(queue.delayed)) == (0, 0, 0)
    (lease,) = consumer.leases
    assert lease.content.size == 0
    queue.ack(lease)
    queue.requeue([lease])
    queue.reject(lease)
    queue.fetched([])
    queue.dispatch()
    assert queue.stale_settlements == 3
