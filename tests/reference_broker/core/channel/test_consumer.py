"""Frames of a delivery, the same as the codec's for every size of body; and the counts of returns
that a consumer of a quorum queue sees."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import (
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicRecover,
    BasicReject,
    ChannelClose,
    ChannelOpen,
    Method,
    QueueDeclare,
)
from reference_broker.core.message.header import headers_of
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

PROPERTIES = Properties(message_id="m", headers={"a": [1, "b"]}, delivery_mode=2)
PERSISTENT = Properties(delivery_mode=2)


@pytest.mark.parametrize("size", [0, 1, 4087, 4088, 4089, 8176, 8177, 50_000])
@pytest.mark.parametrize("tag", ["t", "x" * 255, "märchen"])
def test_a_delivery_is_what_the_codec_would_write(size: int, tag: str) -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"), BasicConsume("q", tag))
    client.received()
    body = bytes(size)
    client.publish("q", body, properties=PROPERTIES, frame_max=4096)
    expected = content_frames(1, BasicDeliver(tag, 1, False, "", "q"), PROPERTIES, body, 4096)
    assert client.connection.output_size == len(expected)
    assert client.output() == expected


@pytest.mark.parametrize("size", [0, 1, 4088, 4089])
def test_what_get_gives_is_what_the_codec_would_write(size: int) -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"))
    client.received()
    body = bytes(size)
    client.publish("q", body, properties=PROPERTIES, frame_max=4096)
    client.send(1, BasicGet("q"))
    expected = content_frames(1, BasicGetOk(1, False, "", "q", 0), PROPERTIES, body, 4096)
    assert client.connection.output_size == len(expected)
    assert client.output() == expected


def test_a_body_may_come_in_frames_of_one_size_and_go_in_another() -> None:
    lone = LoneBroker()
    small, large = lone.client(frame_max=4096), lone.client()
    small.send(1, QueueDeclare("q"), BasicConsume("q", "t", no_ack=True))
    small.received()
    body = bytes(range(256)) * 400
    large.publish("q", body)
    assert small.received()[0].body == body


def test_a_frame_may_be_larger_by_the_eight_octets_that_some_clients_forget() -> None:
    client = LoneBroker().client(frame_max=4096)
    client.send(1, QueueDeclare("q"))
    client.received()
    client.publish("q", b"x" * 4096, frame_max=4096 + 8)
    client.publish("q", b"x" * 4097, frame_max=4096 + 9)
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1
    assert client.methods()[0].NAME == "connection.close"


def with_message(**arguments: Any) -> LoneClient:
    client = LoneBroker().client()
    table = {"x-queue-type": "quorum", **arguments}
    client.send(1, QueueDeclare("q", durable=True, arguments=table))
    client.publish("q", properties=PERSISTENT)
    client.received()
    return client


def seen(client: LoneClient) -> list[tuple[bool, Any, Any]]:
    """(redelivered, delivery count, acquired count) of each delivery."""
    return [
        (
            received.method.redelivered,
            (headers := headers_of(received.header)).get("x-delivery-count"),
            headers.get("x-acquired-count"),
        )
        for received in client.received()
        if isinstance(received.method, BasicDeliver | BasicGetOk)
    ]


RETURNS: list[list[Method]] = [
    [BasicNack(0, True, True)],
    [BasicReject(1, True)],
    [BasicRecover(True)],
    [ChannelClose(200, "", 0, 0), ChannelOpen()],
]


@pytest.mark.parametrize("how", RETURNS)
def test_every_way_back_counts(how: list[Method]) -> None:
    client = with_message()
    client.send(1, BasicGet("q"), *how)
    client.send(1, BasicGet("q"))
    assert seen(client) == [(False, None, None), (True, 1, 1)]


def test_a_lost_connection_counts() -> None:
    client = with_message()
    other = client.connection.broker
    client.send(1, BasicGet("q"))
    client.disconnect()
    queue = other.vhosts["/"].queues["q"]
    assert queue.delivery_counts is not None
    lease = queue.get(None)
    assert lease is not None
    assert queue.delivery_counts.of(lease.sequence) == (1, 1)


def test_consumers_see_it_up_to_the_limit() -> None:
    client = with_message(**{"x-delivery-limit": 2})
    client.send(1, BasicConsume("q"))
    for tag in (1, 2, 3):
        client.send(1, BasicNack(tag, False, True))
    assert seen(client) == [(False, None, None), (True, 1, 1), (True, 2, 2)]


def test_a_consumer_without_acks_sees_it_too() -> None:
    client = with_message()
    client.send(1, BasicGet("q"), BasicNack(1, False, True), BasicConsume("q", no_ack=True))
    assert seen(client) == [(False, None, None), (True, 1, 1)]
    assert client.connection.broker.vhosts["/"].queues["q"].unacked == 0
