"""An object that ends is freed by its reference count: nothing is left for the garbage collector,
and nothing keeps it alive."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicGet,
    BasicNack,
    BasicQos,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ConfirmSelect,
    ConnectionClose,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeDelete,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    QueueUnbind,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.connection.connection import Connection
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.message.content import Content
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

KINDS = (Binding, Channel, Connection, Consumer, Content, Exchange, Lease, Queue)
"""Classes whose objects are counted."""

PERSISTENT = Properties(delivery_mode=2)


def alive() -> Counter[str]:
    """The objects that there are, by the names of their classes."""
    return Counter(type(each).__name__ for each in gc.get_objects() if type(each) in KINDS)


@contextmanager
def nothing_for_the_collector() -> Iterator[None]:
    """Fails when what happened here has left objects that only the collector can free."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield
        gc.collect()
        assert Counter(type(each).__name__ for each in gc.garbage) == {}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def declare_and_delete(lone: LoneBroker, client: LoneClient, **arguments: object) -> None:
    durable = arguments.pop("durable", True) is True
    client.send(1, QueueDeclare("q", durable=durable, arguments=arguments))
    client.send(1, QueueBind("q", "amq.topic", "a.*.#"))
    for properties in (PERSISTENT, Properties(), Properties(expiration="60000")):
        client.publish("q", properties=properties)
    client.send(1, BasicGet("q"), BasicGet("q"), BasicNack(1, False, True))
    client.send(1, QueueDelete("q"))
    lone.pass_time(2)


def a_queue(lone: LoneBroker, client: LoneClient) -> None:
    declare_and_delete(lone, client)
    declare_and_delete(lone, client, durable=False)


def a_queue_with_everything(lone: LoneBroker, client: LoneClient) -> None:
    declare_and_delete(lone, client, **{"x-expires": 60_000, "x-message-ttl": 30_000})
    declare_and_delete(lone, client, **{"x-max-priority": 3, "x-max-length": 2})
    declare_and_delete(lone, client, **{"x-queue-type": "quorum"})
    declare_and_delete(lone, client, **{"x-requeue-delay": 10_000})
    declare_and_delete(lone, client, **{"x-dead-letter-exchange": "", "x-message-ttl": 1})
    declare_and_delete(lone, client, **{"x-message-deduplication": True})


def a_queue_that_ends_by_itself(lone: LoneBroker, client: LoneClient) -> None:
    client.send(1, QueueDeclare("unused", arguments={"x-expires": 100}))
    client.send(1, QueueDeclare("auto", auto_delete=True), BasicConsume("auto", "t"))
    client.publish("auto")
    client.publish("unused")
    client.send(1, BasicCancel("t"), BasicAck(0, True))
    lone.pass_time(1)
    assert not lone.broker.vhosts["/"].queues


def an_exchange(lone: LoneBroker, client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for type in ("direct", "fanout", "topic", "headers", "x-consistent-hash", "x-random"):
        client.send(1, ExchangeDeclare("x", type), ExchangeDeclare("y", "fanout"))
        client.send(1, QueueBind("q", "x", "1"), ExchangeBind("y", "x", "2"))
        client.publish("1", exchange="x")
        client.send(1, QueueUnbind("q", "x", "1"))
        client.send(1, ExchangeDelete("x"), ExchangeDelete("y"))
    delayed = {"x-delayed-type": "fanout"}
    client.send(1, ExchangeDeclare("d", "x-delayed-message", arguments=delayed))
    client.publish("", exchange="d", properties=Properties(headers={"x-delay": 5_000}))
    client.send(1, ExchangeDelete("d"))
    rule = {"x-cache-size": 10}
    client.send(1, ExchangeDeclare("s", "x-message-deduplication", arguments=rule))
    client.send(1, QueueBind("q", "s", ""))
    client.publish("", exchange="s", properties=Properties(headers={"x-deduplication-header": "1"}))
    client.send(1, ExchangeDelete("s"), QueueDelete("q"))
    assert len(lone.broker.vhosts["/"].exchanges) == 7


def a_channel(lone: LoneBroker, client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    for number in (2, 3, 4):
        client.send(number, ChannelOpen(), BasicQos(0, 10, False))
    client.send(2, ConfirmSelect())
    client.send(3, TxSelect())
    client.send(4, BasicConsume("amq.rabbitmq.reply-to", "r", no_ack=True))
    client.send(2, BasicConsume("q", "t"))
    for number in (2, 3, 4):
        client.publish("q", channel=number)
    client.send(3, TxCommit())
    client.publish("q", channel=3)
    client.send(3, BasicConsume("q", "u"), TxRollback())
    for number in (2, 3, 4):
        client.send(number, ChannelClose(200, "", 0, 0))
    client.send(5, ChannelOpen())
    client.send(5, QueueDeclare("missing", passive=True), ChannelCloseOk())
    client.send(1, QueueDelete("q"))


def a_connection(lone: LoneBroker, client: LoneClient) -> None:
    client.send(1, QueueDeclare("q"))
    polite, rude = lone.client(heartbeat_s=10), lone.client(heartbeat_s=10)
    for each in (polite, rude):
        each.send(1, ConfirmSelect(), BasicConsume("q", "t"))
        each.send(1, QueueDeclare("", exclusive=True), BasicConsume("", "own"))
        each.publish("q")
    polite.send(0, ConnectionClose(200, "", 0, 0))
    polite.disconnect()
    rude.disconnect()
    lone.socket().disconnect()
    silent = lone.socket()
    lone.pass_time(30)
    assert silent.connection.closed
    client.send(1, QueueDelete("q"))
    lone.broker.take_dirty_connections()


@pytest.mark.parametrize(
    "ends",
    [
        a_queue,
        a_queue_with_everything,
        a_queue_that_ends_by_itself,
        an_exchange,
        a_channel,
        a_connection,
    ],
)
def test_what_ends_is_freed_by_its_reference_count(
    ends: Callable[[LoneBroker, LoneClient], None],
) -> None:
    gc.collect()  # brokers of other tests
    lone = LoneBroker()
    client = lone.client()
    ends(lone, client)
    client.received()
    before = alive()
    with nothing_for_the_collector():
        ends(lone, client)
        ends(lone, client)
        client.received()
        lone.broker.take_dirty_connections()
    assert alive() == before


def test_an_unacked_message_of_a_deleted_queue_is_let_go() -> None:
    """Its lease stays in the channel's books until the client settles it: the body does not."""
    lone = LoneBroker()
    client = lone.client()
    for _ in range(3):
        client.send(1, QueueDeclare("q"), BasicConsume("q", "t"))
        client.publish("q", b"x" * 1_000)
        client.send(1, QueueDelete("q"))
        client.received()
    leases = client.connection.channels[1].unacked
    assert [len(lease.content.body) for lease in leases.values()] == [0, 0, 0]
    client.send(1, BasicAck(0, True))
    assert not leases
