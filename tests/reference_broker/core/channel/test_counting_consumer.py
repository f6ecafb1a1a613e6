"""Who gets a message of a quorum queue again is told how often it came back, by whichever way."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties
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

PERSISTENT = Properties(delivery_mode=2)


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
