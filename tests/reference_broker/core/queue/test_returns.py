"""Messages that come back to another place: the order, what is logged, and what a restart finds."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.requeue_position import RequeuePosition, RequeueRule
from reference_broker.core.index.priority import FRONT_LEVEL, LEVEL_SHIFT
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.returns import put_back_unseen
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def declared(host: QueueHost, position: str, **arguments: Any) -> Queue:
    return host.declare("q", requeue_position=position, **arguments)


def take(queue: Queue, count: int) -> list[Lease]:
    leases = [queue.get(None) for _ in range(count)]
    return [lease for lease in leases if lease is not None]


def bodies(queue: Queue) -> bytes:
    return b"".join(lease.content.body for lease in take(queue, queue.ready))


def persistent(priority: int) -> bytes:
    return encode_header(1, Properties(delivery_mode=2, priority=priority))


def records(host: QueueHost) -> list[tuple[Any, ...]]:
    assert isinstance(host.journal, RecordingJournal)
    return host.journal.records


@pytest.mark.parametrize("header", [HEADER, TRANSIENT])
@pytest.mark.parametrize(
    ("position", "order"), [("original", b"12345"), ("front", b"41235"), ("back", b"12354")]
)
def test_the_order(host: QueueHost, header: bytes, position: str, order: bytes) -> None:
    queue = declared(host, position)
    host.publish(queue, b"1", b"2", b"3", b"4", b"5", header=header)
    queue.requeue(take(queue, 4)[3:])
    assert (queue.ready, queue.unacked) == (2, 3)
    held = list(queue.leases.values())
    consumer = LoneConsumer(requeue=RequeueRule())
    for lease in held:
        lease.holder = consumer
    queue.limits = host.declare("plain").limits
    queue.requeue(held)
    assert bodies(queue) == order
    assert queue.requeued == 4


def test_what_goes_to_the_front_goes_behind_what_is_there_already(host: QueueHost) -> None:
    queue = declared(host, "front")
    host.publish(queue, b"1", b"2", b"3", b"4", header=HEADER)
    leases = take(queue, 3)
    queue.requeue(leases[2:])
    queue.requeue(leases[:2])
    assert bodies(queue) == b"3124"


def test_a_consumers_rule_goes_before_the_queues(host: QueueHost) -> None:
    queue = declared(host, "front")
    consumer = LoneConsumer(credit=2, requeue=RequeueRule(RequeuePosition.BACK))
    queue.add_consumer(consumer)
    host.publish(queue, b"1", b"2", b"3", header=HEADER)
    queue.remove_consumer(consumer)
    queue.requeue(consumer.leases)
    assert bodies(queue) == b"312"


def test_it_is_one_atomic_move_and_redelivered(host: QueueHost) -> None:
    queue = declared(host, "back")
    host.publish(queue, b"1", b"2", header=HEADER)
    (lease,) = take(queue, 1)
    old = lease.sequence
    queue.requeue([lease])
    *_, moved, marked = records(host)
    new = old + 2
    assert moved[:3] == ("move", queue.id, old)
    assert [entry.sequence for entry in moved[4]] == [new]
    assert marked[:3] == ("requeue", queue.id, new)
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.live() == [(queue.id, old + 1), (queue.id, new)]
    first, second = take(queue, 2)
    assert (first.redelivered, second.redelivered) == (False, True)
    queue.ack(second)
    assert host.journal.live() == [(queue.id, old + 1)]
    queue.requeue([lease])
    assert queue.stale_settlements == 1


def test_an_expiry_is_kept(host: QueueHost) -> None:
    queue = declared(host, "back", message_ttl=1_000)
    host.publish(queue, b"1", header=HEADER)
    leases = take(queue, 1)
    host.advance(600)
    queue.requeue(leases)
    host.settle()
    host.advance(450)
    assert (queue.ready, queue.expired) == (0, 1)


def test_lower_and_lower_priorities(host: QueueHost) -> None:
    queue = declared(host, "back", max_priority=5, requeue_lower_priority=2)
    for body, priority in ((b"a", 5), (b"b", 3), (b"c", 0)):
        host.publish(queue, body, header=persistent(priority))
    levels = []
    for _ in range(4):
        lease = next(each for each in take(queue, 3) if each.content.body == b"a")
        levels.append(lease.sequence >> LEVEL_SHIFT)
        queue.requeue([lease])
        others = list(queue.leases.values())
        for other in others:
            other.holder = LoneConsumer()
        rule, queue.limits = queue.limits, host.declare("p", max_priority=5).limits
        queue.requeue(others)
        queue.limits = rule
    assert levels == [5, 3, 1, 0]


def test_the_front_of_a_priority_queue_and_back_again(host: QueueHost) -> None:
    queue = declared(host, "front", max_priority=5)
    host.publish(queue, b"a", header=persistent(1))
    queue.requeue(take(queue, 1))
    host.publish(queue, b"b", header=persistent(5))
    (lease,) = take(queue, 1)
    assert (lease.content.body, lease.sequence >> LEVEL_SHIFT) == (b"a", FRONT_LEVEL)
    lease.holder = LoneConsumer(requeue=RequeueRule(RequeuePosition.BACK))
    queue.requeue([lease])
    assert [each.sequence >> LEVEL_SHIFT for each in take(queue, 2)] == [5, 1]


def test_delivery_counts_go_with_the_message(host: QueueHost) -> None:
    queue = declared(host, "back", queue_type="quorum", delivery_limit=2)
    host.publish(queue, b"1", b"2", header=HEADER)
    for _ in range(3):
        for lease in take(queue, 2):
            queue.requeue([lease])
    assert queue.ready == 0
    assert queue.unacked == 0


def test_a_purge_and_a_deletion_take_what_was_moved(host: QueueHost) -> None:
    queue = declared(host, "front")
    host.publish(queue, b"1", b"2", b"3", header=HEADER)
    queue.requeue(take(queue, 2))
    assert purge_now(queue) == 3
    host.publish(queue, b"4", b"5", header=HEADER)
    queue.requeue(take(queue, 1))
    delete_now(queue)
    assert isinstance(host.journal, RecordingJournal)
    assert host.journal.live() == []
    assert queue.memory_bytes == 0


def test_behind_a_backlog_it_waits_on_disk(host: QueueHost) -> None:
    host.window.size_bytes = host.window.largest_bytes = 600
    queue = declared(host, "back")
    host.publish(queue, *[b"%d" % number for number in range(6)], header=HEADER)
    assert queue.backlog.absent
    (lease,) = take(queue, 1)
    queue.requeue([lease])
    assert queue.ready == 6
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    assert consumer.bodies == [b"1", b"2", b"3", b"4", b"5", b"0"]


def test_other_queues_keep_theirs(host: QueueHost) -> None:
    queue, other = declared(host, "back"), host.declare("other")
    host.publish([queue, other], b"x", header=HEADER)
    (here,), (there,) = take(queue, 1), take(other, 1)
    queue.requeue([here])
    assert isinstance(host.journal, RecordingJournal)
    assert there.content.position == 0
    other.ack(there)
    assert host.journal.live() == [(queue.id, here.sequence + 1)]


def test_what_nobody_has_seen_is_as_it_was(host: QueueHost) -> None:
    queue = host.declare("q")
    for body in (b"1", b"2", b"3"):
        host.publish(queue, body, header=HEADER)
    first, second = take(queue, 2)
    queue.requeue([first])
    (again,) = take(queue, 1)
    written = len(records(host))
    put_back_unseen(queue, [second, again])
    assert len(records(host)) == written
    assert (queue.ready, queue.unacked, queue.requeued) == (3, 0, 1)
    taken = [(lease.content.body, lease.redelivered) for lease in take(queue, 3)]
    assert taken == [(b"1", True), (b"2", False), (b"3", False)]
    put_back_unseen(queue, [first, second])
    assert (queue.stale_settlements, queue.unacked) == (2, 3)


def test_unseen_messages_of_a_deleted_queue_stay_where_they_are(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"1", header=HEADER)
    leases = take(queue, 1)
    queue.end()
    put_back_unseen(queue, leases)
    assert (queue.ready, queue.stale_settlements) == (0, 1)
