"""queue.declare and queue.delete: what they count when a message came in the same read."""

from __future__ import annotations

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicDeliver,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    ChannelClose,
    Method,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
)
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


def client_of(arguments: dict[str, object] | None = None, *, consuming: bool = False) -> LoneClient:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q", arguments=arguments or {}))
    if consuming:
        client.send(1, BasicConsume("q", "tag", no_ack=True))
    client.received()
    return client


def publish_and(client: LoneClient, method: Method) -> list[Method]:
    """A message and a method in one read."""
    message = content_frames(1, BasicPublish("", "q"), Properties(), b"body", FRAME_MAX)
    client.send_bytes(message + method_frame(1, method))
    return client.methods()


DELIVERED = BasicDeliver("tag", 1, False, "", "q")
PASSIVE = QueueDeclare("q", passive=True)


def test_a_message_that_nobody_waits_for_is_counted() -> None:
    assert publish_and(client_of(), PASSIVE) == [QueueDeclareOk("q", 1, 0)]


def test_a_message_that_a_consumer_waits_for_is_not_counted() -> None:
    client = client_of(consuming=True)
    assert publish_and(client, PASSIVE) == [DELIVERED, QueueDeclareOk("q", 0, 1)]


def test_a_message_that_has_expired_is_not_counted() -> None:
    client = client_of({"x-message-ttl": 0})
    assert publish_and(client, PASSIVE) == [QueueDeclareOk("q", 0, 0)]


def test_a_queue_whose_message_a_consumer_waits_for_is_empty() -> None:
    client = client_of(consuming=True)
    answers = publish_and(client, QueueDelete("q", if_empty=True))
    assert answers == [DELIVERED, QueueDeleteOk(0), BasicCancel("tag", True)]


def test_a_queue_in_use_and_not_empty_is_told_to_be_not_empty() -> None:
    client = client_of()
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "tag"))
    for _ in range(2):
        client.publish("q", b"body")
    client.received()
    client.send(1, QueueDelete("q", if_unused=True, if_empty=True))
    (closed,) = client.methods()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text == "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty"


def test_who_deletes_a_queue_that_it_consumes_hears_the_ok_first() -> None:
    """Whenever that is: what a durable queue's deletion wrote has to be on disk."""
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True), BasicConsume("q", "tag", nowait=True))
    lone.sync()
    client.received()
    client.send(1, QueueDelete("q"), BasicQos())
    assert client.methods() == []
    lone.sync()
    assert client.methods() == [QueueDeleteOk(0), BasicQosOk(), BasicCancel("tag", True)]


def test_an_exclusive_queue_is_not_durable_whatever_the_client_says() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True, exclusive=True))
    assert client.methods() == [QueueDeclareOk("q", 0, 0)], "and nothing to wait for the disk for"
    assert not lone.broker.vhosts["/"].queues["q"].durable
    client.send(1, QueueDeclare("q", exclusive=True))
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]
