"""The end of channels whose messages go back in portions."""

from __future__ import annotations

import pytest

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicGet,
    ChannelClose,
    ConnectionClose,
    ConnectionCloseOk,
    Method,
    QueueDeclare,
    TxSelect,
)
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.testing.lone_broker import LoneBroker

MESSAGES = 20


@pytest.mark.parametrize(
    "first", [(BasicAck(MESSAGES + 1),), (ChannelClose(200),), (TxSelect(), BasicAck(0, True))]
)
@pytest.mark.parametrize("units", [1, 7])
def test_a_channel_and_its_connection_may_end_one_within_the_other(
    first: tuple[Method, ...], units: int
) -> None:
    """Both give back what the channel holds; after that the exclusive queues go."""
    lone = LoneBroker(units=units)
    client = lone.client()
    client.send(1, QueueDeclare("q"), QueueDeclare("mine", exclusive=True))
    for name in ("q", "mine"):
        for _ in range(MESSAGES // 2):
            client.publish(name)
            client.send(1, BasicGet(name))
    client.received()
    frames = [method_frame(1, method) for method in first]
    client.send_bytes(b"".join([*frames, method_frame(0, ConnectionClose(200))]))
    assert ConnectionCloseOk() in client.methods()
    vhost = lone.broker.vhosts["/"]
    assert list(vhost.queues) == ["q"]
    assert (vhost.queues["q"].ready, vhost.queues["q"].unacked) == (MESSAGES // 2, 0)


@pytest.mark.parametrize("units", [1, 7, UNLIMITED_UNITS])
def test_what_is_overdue_in_an_exclusive_queue_is_dead_before_the_queue_goes(units: int) -> None:
    lone = LoneBroker(units=units)
    client = lone.client()
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    arguments = {"x-message-ttl": 1_000, **dead}
    client.send(1, QueueDeclare("dead"), QueueDeclare("q", exclusive=True, arguments=arguments))
    for _ in range(MESSAGES):
        client.publish("q")
        client.send(1, BasicGet("q"))
    lone.pass_time(2)
    client.send(0, ConnectionClose(200))
    queues = lone.broker.vhosts["/"].queues
    assert {name: queue.ready for name, queue in queues.items()} == {"dead": MESSAGES}
