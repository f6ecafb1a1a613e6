"""Moving messages from queue to queue: one record each, nothing lost, doubled or dropped."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop, Transfer
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2, headers={"a": 1}))
MANY = 1_000
MUCH = 1 << 20


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def filled(host: QueueHost, name: str, *bodies: bytes) -> Queue:
    queue = host.declare(name)
    for body in bodies:
        host.publish(queue, body, header=PERSISTENT)
    return queue


def contents(queue: Queue) -> list[Content]:
    leases = []
    while (lease := queue.get(None)) is not None:
        leases.append(lease)
    queue.requeue(leases)
    return [lease.content for lease in leases]


def bodies(queue: Queue) -> list[bytes]:
    return [bytes(content.body) for content in contents(queue)]


def test_messages_go_in_order_and_stay_what_they_were(
    host: QueueHost, journal: RecordingJournal
) -> None:
    source, destination = filled(host, "q", b"1", b"2", b"3"), filled(host, "other", b"0")
    before = contents(source)[:2]
    written = len(journal.records)
    tail = destination.index.tail
    transfer = Transfer(source, destination, 2, MUCH)
    assert transfer.run() is Stop.COUNT
    assert transfer.moved == 2
    assert [record[0] for record in journal.records[written:]] == ["move", "move"]
    assert journal.records[written][4] == (Entry(destination.id, tail),)
    assert (bodies(source), bodies(destination)) == ([b"3"], [b"0", b"1", b"2"])
    after = contents(destination)[1:]
    assert [(c.route, c.header) for c in after] == [(c.route, c.header) for c in before]
    assert len(journal.live()) == 4
    assert source.unacked == 0


def test_what_is_moved_is_not_redelivered(host: QueueHost) -> None:
    source, destination = filled(host, "q", b"1"), filled(host, "other")
    contents(source)
    Transfer(source, destination, 1, MUCH).run()
    lease = destination.get(None)
    assert lease is not None
    assert not lease.redelivered


def test_accounting_is_left_as_if_nothing_had_been_there(host: QueueHost) -> None:
    source, destination = filled(host, "q", b"1", b"2"), filled(host, "other")
    before = source.memory_bytes
    assert Transfer(source, destination, MANY, MUCH).run() is Stop.EMPTY
    assert (source.memory_bytes, destination.memory_bytes) == (0, before)


def test_what_is_moved_keeps_its_expiration(host: QueueHost, journal: RecordingJournal) -> None:
    source, destination = filled(host, "q"), filled(host, "other")
    host.publish(source, b"x", header=encode_header(1, Properties(delivery_mode=2, expiration="9")))
    assert Transfer(source, destination, MANY, MUCH).run() is Stop.EMPTY
    assert journal.records[-1][4][0].expires_at_ms == host.moment.wall_ms + 9
    host.settle()
    host.advance(20)
    assert (destination.ready, destination.expired) == (0, 1)


def test_bytes_end_a_turn(host: QueueHost) -> None:
    source, destination = filled(host, "q", b"1" * 100, b"2" * 100), filled(host, "other")
    transfer = Transfer(source, destination, MANY, 100)
    assert transfer.run() is Stop.COUNT
    assert (transfer.moved, source.ready) == (1, 1)


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish", "reject-publish-dlx"])
def test_a_full_destination_ends_it_and_loses_nothing(host: QueueHost, overflow: str) -> None:
    source = filled(host, "q", b"1", b"2", b"3")
    grave = host.declare("grave")
    destination = host.declare(
        "other",
        max_length=2,
        overflow=overflow,
        dead_letter_exchange="",
        dead_letter_routing_key="grave",
    )
    transfer = Transfer(source, destination, MANY, MUCH)
    assert transfer.run() is Stop.FULL
    assert (bodies(source), bodies(destination)) == ([b"3"], [b"1", b"2"])
    assert (grave.ready, destination.refused, destination.dropped) == (0, 0, 0)
    assert source.requeued == 1  # by the look into it, above


def test_a_full_destination_with_a_consumer_has_room_again(host: QueueHost) -> None:
    source = filled(host, "q", b"1", b"2", b"3")
    destination = host.declare("other", max_length=1)
    consumer = LoneConsumer()
    destination.add_consumer(consumer)
    assert Transfer(source, destination, MANY, MUCH).run() is Stop.EMPTY
    host.settle()
    assert consumer.bodies == [b"1", b"2", b"3"]


def test_consumers_of_the_source_go_first(host: QueueHost) -> None:
    source, destination = filled(host, "q", b"1", b"2"), filled(host, "other")
    consumer = LoneConsumer(credit=1)
    source.add_consumer(consumer)
    Transfer(source, destination, MANY, MUCH).run()
    assert consumer.bodies == [b"1"]
    assert bodies(destination) == [b"2"]


def test_a_transient_destination_acks_the_source(
    host: QueueHost, journal: RecordingJournal
) -> None:
    source, destination = filled(host, "q", b"1"), host.declare("other", durable=False)
    Transfer(source, destination, 1, MUCH).run()
    assert [record[0] for record in journal.records] == ["publish", "ack"]
    assert bodies(destination) == [b"1"]


@pytest.mark.parametrize("gone", ["q", "other"])
def test_a_deleted_queue_ends_it(host: QueueHost, gone: str) -> None:
    queues = {name: filled(host, name, b"1") for name in ("q", "other")}
    transfer = Transfer(queues["q"], queues["other"], MANY, MUCH)
    delete_now(queues[gone])
    assert transfer.run() is Stop.GONE
    assert transfer.moved == 0
