"""TTLs of messages and of queues, by a clock that is moved by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.expiry import expires_at_ms
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))


def expiring(milliseconds: int) -> bytes:
    return encode_header(1, Properties(delivery_mode=2, expiration=str(milliseconds)))


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


@pytest.mark.parametrize(
    ("queue_ttl", "message_ttl", "expected"),
    [(None, None, 0), (5, None, 105), (None, 7, 107), (5, 7, 105), (7, 5, 105), (0, 9, 100)],
)
def test_the_shorter_ttl_counts(
    queue_ttl: int | None, message_ttl: int | None, expected: int
) -> None:
    assert expires_at_ms(100, queue_ttl, message_ttl) == expected


def test_a_message_expires_at_its_time_and_not_before(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q", message_ttl=1000)
    host.publish(queue, b"a", header=HEADER)
    host.advance(990)
    assert queue.ready == 1
    host.advance(20)
    assert (queue.ready, queue.expired) == (0, 1)
    assert journal.live() == []
    assert host.deadlines.next_ms() is None


def test_messages_expire_one_after_the_other_with_one_deadline(host: QueueHost) -> None:
    queue = host.declare("q", message_ttl=100)
    for _ in range(50):
        host.publish(queue, b"a", header=HEADER)
        host.advance(10)
    assert len(host.deadlines) == 1
    assert (queue.ready, queue.expired) == (9, 41)
    host.advance(100)
    assert (queue.ready, queue.expired) == (0, 50)


def test_a_short_ttl_behind_a_long_one_expires_when_it_gets_to_the_head(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"long", header=expiring(10_000))
    host.publish(queue, b"short", header=expiring(100))
    host.publish(queue, b"none", header=HEADER)
    host.advance(1000)
    assert queue.ready == 3
    lease = queue.get(None)
    assert lease is not None
    assert lease.content.body == b"long"
    assert (queue.ready, queue.expired) == (1, 1), "the short one went with the head before it"
    host.advance(100_000)
    assert queue.ready == 1, "nothing of what is left has a ttl"


def test_a_consumer_never_gets_an_overdue_message(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"keeps", header=HEADER)
    host.publish(queue, b"short", header=expiring(100))
    host.advance(1000)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"keeps"]
    assert queue.expired == 1


def test_ttl_zero_is_now_or_never(host: QueueHost) -> None:
    queue = host.declare("q", message_ttl=0)
    host.publish(queue, b"nobody is here", header=HEADER)
    assert (queue.ready, queue.expired) == (0, 1)
    consumer = LoneConsumer(credit=1)
    queue.add_consumer(consumer)
    host.publish(queue, b"delivered", b"no credit left", header=HEADER)
    assert consumer.bodies == [b"delivered"]
    assert (queue.ready, queue.expired) == (0, 2)


def test_a_message_of_ttl_zero_that_comes_back_is_overdue_in_the_same_instant(
    host: QueueHost,
) -> None:
    queue = host.declare("q", message_ttl=0)
    consumer = LoneConsumer(credit=2)
    queue.add_consumer(consumer)
    host.publish(queue, b"once", header=HEADER)
    (lease,) = consumer.leases
    queue.requeue([lease])
    host.publish(queue, b"new", header=HEADER)
    assert consumer.bodies == [b"once", b"new"]
    assert (queue.ready, queue.expired) == (0, 1)


def test_get_does_not_see_a_message_of_ttl_zero(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", header=expiring(0), settle=False)
    assert queue.get(None) is None


def test_an_unacked_message_does_not_expire_but_does_when_it_comes_back(host: QueueHost) -> None:
    queue = host.declare("q", message_ttl=100)
    host.publish(queue, b"a", header=HEADER)
    lease = queue.get(None)
    assert lease is not None
    host.advance(1000)
    assert (queue.unacked, queue.expired) == (1, 0)
    queue.requeue([lease])
    host.settle()
    assert (queue.ready, queue.expired) == (0, 1)


def test_an_earlier_deadline_replaces_a_later_one(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=1)
    host.publish(queue, b"low", header=expiring(10_000))
    host.publish(queue, b"high", header=encode_header(1, Properties(priority=1, expiration="100")))
    host.advance(110)
    assert (queue.ready, queue.expired) == (1, 1)
    assert len(host.deadlines) == 1


def test_expiry_goes_on_after_the_queue_was_empty(host: QueueHost) -> None:
    queue = host.declare("q")
    for _ in range(3):
        host.publish(queue, b"a", header=expiring(50))
        host.advance(60)
    assert (queue.expired, queue.expiry.watching) == (3, False)


def test_an_unused_queue_expires(host: QueueHost) -> None:
    host.declare("q", expires=1000)
    host.advance(990)
    assert host.gone == []
    host.advance(20)
    assert host.gone == [("expired", "q")]


def test_get_and_redeclaration_are_use_but_publishing_is_not(host: QueueHost) -> None:
    queue = host.declare("q", expires=1000)
    host.advance(800)
    queue.get(None)
    host.advance(800)
    queue.touch()
    host.advance(800)
    assert host.gone == []
    host.publish(queue, b"a", header=HEADER)
    host.advance(300)
    assert host.gone == [("expired", "q")]


def test_a_queue_with_a_consumer_is_in_use_until_it_goes(host: QueueHost) -> None:
    queue = host.declare("q", expires=1000)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.advance(2500)
    queue.remove_consumer(consumer)
    host.advance(990)
    assert host.gone == []
    host.advance(30)
    assert host.gone == [("expired", "q")]
    assert len(host.deadlines) == 0


def test_what_comes_back_too_late_is_dead_before_the_queue_can_go(host: QueueHost) -> None:
    host.declare("dead")
    queue = host.declare(
        "q", message_ttl=0, dead_letter_exchange="", dead_letter_routing_key="dead"
    )
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.publish(queue, b"a", header=HEADER)
    queue.dispatch()
    queue.requeue(consumer.leases)
    delete_now(queue)
    assert host.queues["dead"].ready == 1


def now_or_never(host: QueueHost, **limits: Any) -> Queue:
    """A queue with one message, of which a policy said after it that its TTL is 0."""
    queue = host.declare("q", **limits)
    host.publish(queue, b"old", header=HEADER)
    queue.limits = replace(queue.limits, message_ttl_ms=0)
    return queue


@pytest.mark.parametrize("beside", [False, True], ids=["one queue", "several"])
def test_now_or_never_is_never_behind_older_messages(
    host: QueueHost, journal: RecordingJournal, beside: bool
) -> None:
    queue = now_or_never(host, max_length_bytes=3)
    other = host.declare("other")
    assert host.publish((queue, other) if beside else queue, b"new", header=HEADER)
    assert (queue.ready, queue.published, queue.expired, queue.dropped) == (1, 2, 1, 0)
    assert other.ready == beside
    lease = queue.get(None)
    assert lease is not None
    assert lease.content.body == b"old"


def test_now_or_never_is_now_once_the_older_ones_are_taken(host: QueueHost) -> None:
    queue = now_or_never(host)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.publish(queue, b"new", header=HEADER)
    queue.dispatch()
    assert [lease.content.body for lease in consumer.leases] == [b"old", b"new"]


def test_with_dead_letters_or_in_a_quorum_queue_it_waits_for_its_turn(host: QueueHost) -> None:
    for limits in ({"dead_letter_exchange": "x"}, {"queue_type": "quorum"}):
        queue = now_or_never(host, **limits)
        host.publish(queue, b"new", header=HEADER)
        assert queue.ready == 2


def overdue(units: int, *, ttl: bool) -> tuple[QueueHost, Queue]:
    """A queue with twenty messages whose time is over, and one whose time is not; nothing was done
    about them yet, and the turn has few units."""
    host = QueueHost()
    limits: dict[str, Any] = {"message_ttl": 100} if ttl else {}
    queue = host.declare("q", **limits)
    dying = HEADER if ttl else encode_header(1, Properties(delivery_mode=2, expiration="100"))
    host.publish(queue, *[b"dead"] * 20, header=dying)
    host.moment.wall_ms += 150
    host.publish(queue, b"alive", header=HEADER, settle=False)
    host.budget.units = host.budget.left = units
    return host, queue


@pytest.mark.parametrize("ttl", [True, False], ids=["of the queue", "of the message"])
def test_what_is_overdue_is_not_got_however_small_the_turn(ttl: bool) -> None:
    host, queue = overdue(1, ttl=ttl)
    waits = 0
    while True:
        try:
            lease = queue.get(None)
        except NotYet:
            waits += 1
            host.turn()
        else:
            break
    assert lease is not None
    assert lease.content.body == b"alive"
    assert (queue.expired, queue.ready) == (20, 0)
    assert waits >= 10


@pytest.mark.parametrize("ttl", [True, False], ids=["of the queue", "of the message"])
def test_what_is_overdue_is_not_delivered_however_small_the_turn(ttl: bool) -> None:
    host, queue = overdue(1, ttl=ttl)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    turns = 0
    while not host.turn():
        turns += 1
    assert consumer.bodies == [b"alive"]
    assert queue.expired == 20
    assert turns >= 10
