"""lone_queue: a queue and its consumers, on a clock that the test moves."""

from __future__ import annotations

from mqkit.wire import PERSISTENT, Properties, encode_header
from reference_broker.core.journal.journal import Entry
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=PERSISTENT))


def test_a_consumer_takes_as_many_deliveries_as_it_has_credit() -> None:
    host = QueueHost()
    queue, consumer = host.declare("q"), LoneConsumer(credit=1)
    queue.add_consumer(consumer)
    assert host.publish(queue, b"1", b"2", header=HEADER)
    assert consumer.bodies == [b"1"]
    consumer.credit += 1
    host.mark_dirty(queue)
    host.settle()
    assert consumer.bodies == [b"1", b"2"]


def test_arguments_are_parsed_and_what_a_queue_refuses_is_told() -> None:
    host = QueueHost()
    queue = host.declare("q", max_length=1, overflow="reject-publish")
    assert host.publish(queue, b"1", header=HEADER)
    assert not host.publish(queue, b"2", header=HEADER)


def test_deadlines_fire_when_time_has_passed() -> None:
    host = QueueHost()
    queue = host.declare("q", message_ttl=100)
    host.publish(queue, b"1", header=HEADER)
    host.advance(99)
    assert queue.ready == 1
    host.advance(1)
    assert queue.ready == 0


def test_an_unused_queue_is_gone_and_noted() -> None:
    host = QueueHost()
    host.declare("q", expires=100)
    host.advance(100)
    assert host.gone == [("expired", "q")]
    assert not host.queues


def test_fetches_are_answered_when_the_test_says_so() -> None:
    host = QueueHost()
    assert isinstance(host.journal, RecordingJournal)
    host.window.size_bytes = 0
    queue, consumer = host.declare("q"), LoneConsumer()
    host.publish(queue, b"1", b"2", header=HEADER)
    queue.add_consumer(consumer)
    host.mark_dirty(queue)
    host.settle()
    assert host.journal.fetches
    host.answer_fetches()
    assert consumer.bodies == [b"1", b"2"]


def test_routes_lead_to_queues_once_each_and_a_missing_exchange_is_none() -> None:
    host = QueueHost()
    queue = host.declare("q")
    host.routes["x", "k"] = ["q", "q"]
    assert host.route("x", "k", b"") == (queue,)
    assert host.route("x", "other", b"") == ()
    assert host.route("missing", "k", b"") is None
    assert host.route("", "q", b"", ["q", "nothing"]) == (queue,)


def test_the_journal_has_what_the_queue_has_logged() -> None:
    host = QueueHost()
    assert isinstance(host.journal, RecordingJournal)
    queue = host.declare("q")
    host.publish(queue, b"1", header=HEADER)
    (record,) = host.journal.records
    assert record == ("publish", (Entry(queue.id, queue.index.tail - 1),), b"1")
    assert host.journal.live() == [(queue.id, queue.index.tail - 1)]
