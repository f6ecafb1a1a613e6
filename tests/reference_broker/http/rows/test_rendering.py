"""Rows of queues and consumers: the type of the queue, and who of several is active."""

from __future__ import annotations

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicReject,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.http.rows.message import Got, message_row
from reference_broker.http.rows.rendering import channel_row, consumer_row, queue_row
from reference_broker.testing.lone_broker import LoneBroker


def test_the_type_of_a_queue() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-queue-type": "quorum"}))
    client.send(1, QueueDeclare("c", durable=True))
    queues = client.connection.broker.vhosts["/"].queues
    assert [queue_row(queue, "n")["type"] for queue in queues.values()] == ["quorum", "classic"]


def test_a_single_active_consumer_and_those_that_wait() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q", arguments={"x-single-active-consumer": True}))
    for tag, priority in (("a", 0), ("b", 0), ("c", 5)):
        arguments = {"x-priority": priority}
        client.send(1, BasicConsume("q", consumer_tag=tag, arguments=arguments))
    channel = client.connection.channels[1]
    queue = client.connection.broker.vhosts["/"].queues["q"]

    def shown() -> list[tuple[bool, str]]:
        rows = [consumer_row(consumer, "n") for consumer in channel.consumers.values()]
        return [(row["active"], row["activity_status"]) for row in rows]

    assert shown() == [(True, "single_active"), (False, "waiting"), (False, "waiting")]
    assert queue_row(queue, "n")["single_active_consumer_tag"] == "a"
    queue.remove_consumer(channel.consumers.pop("a"))
    assert shown() == [(False, "waiting"), (True, "single_active")]
    assert queue_row(queue, "n")["single_active_consumer_tag"] == "c"


def test_a_transactional_channel_shows_what_waits_for_its_commit() -> None:
    client = LoneBroker().client()
    channel = client.connection.channels[1]
    client.send(1, QueueDeclare("q"))
    client.publish("q")

    def shown() -> tuple[bool, int, int]:
        row = channel_row(channel, "n")
        return row["transactional"], row["messages_uncommitted"], row["acks_uncommitted"]

    assert shown() == (False, 0, 0)
    client.send(1, TxSelect(), BasicGet("q"), BasicAck(1))
    client.publish("q")
    client.publish("q")
    assert shown() == (True, 2, 1)
    client.send(1, TxCommit())
    assert shown() == (True, 0, 0)


def test_a_message_that_is_got_again_shows_its_counts() -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-queue-type": "quorum"}))
    client.publish("q", properties=Properties(delivery_mode=2))
    client.send(1, BasicGet("q"), BasicReject(1, True))
    lease = client.connection.broker.vhosts["/"].queues["q"].get(None)
    assert lease is not None
    row = message_row(Got(lease, shown_content(lease), 0), text=True, truncate=None)
    assert row["properties"]["headers"] == {"x-delivery-count": 1, "x-acquired-count": 1}
