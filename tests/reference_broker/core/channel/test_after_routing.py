"""A message after its route is known: into queues, to a reply consumer, back, or nowhere."""

from __future__ import annotations

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicNack,
    BasicPublish,
    BasicReturn,
    QueueDeclare,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal

PERSISTENT = Properties(delivery_mode=2)
CAREFUL = Properties(user_id="guest")
"""Keeps a message off the plain path, so that it is placed here."""


def client_of(lone: LoneBroker | None = None) -> tuple[LoneClient, Channel]:
    client = (lone or LoneBroker()).client(channels=(1, 2))
    return client, client.connection.channels[1]


def reply_address(client: LoneClient) -> str:
    client.send(2, BasicConsume("amq.rabbitmq.reply-to", "replies", no_ack=True))
    client.received()
    consumer = client.connection.channels[2].reply_consumer
    assert consumer is not None
    return consumer.address


def message(routing_key: str, *, mandatory: bool = False) -> bytes:
    method = BasicPublish("", routing_key, mandatory)
    return content_frames(1, method, CAREFUL, b"body", FRAME_MAX)


def test_what_reaches_nobody_is_counted_or_returned() -> None:
    client, channel = client_of()
    client.publish("nowhere", b"lost", properties=CAREFUL)
    client.publish("nowhere", b"back", mandatory=True, properties=CAREFUL)
    [received] = client.received()
    assert received.method == BasicReturn(312, "NO_ROUTE", "", "nowhere")
    assert received.body == b"back"
    assert (channel.unroutable, channel.returned) == (1, 1)


def test_an_answer_that_was_taken_is_neither_returned_nor_unroutable() -> None:
    client, channel = client_of()
    address = reply_address(client)
    client.publish(address, b"answer", mandatory=True)
    [received] = client.received()
    assert received.channel == 2
    assert received.method == BasicDeliver("replies", 1, False, "", address)
    assert (channel.unroutable, channel.returned) == (0, 0)


def test_an_answer_that_nobody_waits_for_is_returned() -> None:
    client, channel = client_of()
    client.publish("amq.rabbitmq.reply-to.gone", mandatory=True)
    client.publish("amq.rabbitmq.reply-to.gone")
    assert [method.NAME for method in client.methods()] == ["basic.return"]
    assert (channel.unroutable, channel.returned) == (1, 1)


def test_a_queue_that_refuses_a_message_has_it_nacked_and_not_returned() -> None:
    client, channel = client_of()
    limit = {"x-max-length": 0, "x-overflow": "reject-publish"}
    client.send(1, QueueDeclare("full", arguments=limit))
    client.select_confirms()
    client.publish("full", mandatory=True, properties=CAREFUL)
    assert client.methods() == [BasicNack(1, requeue=True)]
    assert (channel.unroutable, channel.returned) == (0, 0)


def test_what_was_published_before_a_return_is_confirmed_before_it() -> None:
    client, _ = client_of()
    client.send(1, QueueDeclare("q"))
    client.select_confirms()
    client.send_bytes(message("q") + message("nowhere", mandatory=True))
    assert [method.NAME for method in client.methods()] == [
        "basic.ack",
        "basic.return",
        "basic.ack",
    ]


def test_what_waits_for_the_disk_is_not_confirmed_for_a_return() -> None:
    lone = LoneBroker(RecordingJournal())
    client, _ = client_of(lone)
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.select_confirms()
    client.publish("q", properties=PERSISTENT)
    client.publish("nowhere", mandatory=True)
    assert [method.NAME for method in client.methods()] == ["basic.return"]
    lone.sync()
    assert client.methods() == [BasicAck(1), BasicAck(2)]
