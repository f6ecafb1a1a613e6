"""Queue types: what a quorum queue refuses is refused in RabbitMQ's words."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicConsumeOk,
    BasicGet,
    BasicQos,
    ChannelClose,
    ConnectionClose,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.errors import ChannelException, ConnectionException
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.lone_queue import QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

QUORUM = {"x-queue-type": "quorum"}


def quorum(name: str = "q", **options: Any) -> QueueDeclare:
    return QueueDeclare(name, **{"durable": True, "arguments": QUORUM, **options})


@pytest.fixture
def client() -> LoneClient:
    return LoneBroker().client()


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        (quorum(durable=False), "invalid property 'non-durable' for queue 'q' in vhost '/'"),
        (quorum(exclusive=True), "invalid property 'exclusive-owner' for queue 'q' in vhost '/'"),
        (quorum(auto_delete=True), "invalid property 'auto-delete' for queue 'q' in vhost '/'"),
        (quorum(""), "Cannot declare a server-named queue for type rabbit_quorum_queue"),
    ],
)
def test_properties(client: LoneClient, declaration: QueueDeclare, text: str) -> None:
    client.send(1, declaration)
    (closed,) = client.methods()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.reply_text) == (406, f"PRECONDITION_FAILED - {text}")
    assert not client.connection.broker.vhosts["/"].queues


def test_the_type_is_compared_and_absent_is_classic(client: LoneClient) -> None:
    client.send(1, quorum(), quorum(), QueueDeclare("c"))
    client.send(1, QueueDeclare("c", arguments={"x-queue-type": "classic"}))
    assert all(isinstance(method, QueueDeclareOk) for method in client.methods())
    client.send(1, QueueDeclare("q", durable=True))
    (closed,) = client.methods()
    assert isinstance(closed, ChannelClose)
    assert closed.reply_text.endswith(
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/':"
        " received none but current is the value 'quorum' of type 'longstr'"
    )


@pytest.mark.parametrize("flag", ["if_unused", "if_empty"])
def test_it_is_deleted_unconditionally(client: LoneClient, flag: str) -> None:
    client.send(1, quorum(), QueueDelete("q", **{flag: True}))
    closed = client.methods()[-1]
    assert isinstance(closed, ConnectionClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (540, 50, 40)
    assert closed.reply_text == (
        "NOT_IMPLEMENTED - cannot delete queue 'q' in vhost '/'. queue.delete operations with"
        f" {flag.replace('_', '-')} flag set are not supported by quorum queues"
    )


def test_it_takes_no_consumer_of_a_channel_with_a_global_prefetch(client: LoneClient) -> None:
    client.send(1, quorum(), BasicQos(prefetch_count=5, global_=True), BasicConsume("q"))
    closed = client.methods()[-1]
    assert isinstance(closed, ConnectionClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (540, 60, 20)
    assert closed.reply_text == (
        "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos"
    )


def test_a_single_active_consumers_messages_are_nobody_elses(client: LoneClient) -> None:
    client.send(1, quorum(arguments={**QUORUM, "x-single-active-consumer": True}), BasicGet("q"))
    closed = client.methods()[-1]
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (405, 60, 70)
    assert closed.reply_text == (
        "RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get"
        " operations are not supported by quorum queues with single active consumer"
    )


def test_exclusive_consumers_share_it_and_a_purge_is_fine(client: LoneClient) -> None:
    client.send(1, quorum(), BasicConsume("q", exclusive=True), BasicConsume("q", exclusive=True))
    client.send(1, QueuePurge("q"))
    _, one, other, purged = client.methods()
    assert isinstance(one, BasicConsumeOk)
    assert isinstance(other, BasicConsumeOk)
    assert isinstance(purged, QueuePurgeOk)


def test_a_stream_ends_the_connection(client: LoneClient) -> None:
    client.send(1, quorum(arguments={"x-queue-type": "stream"}))
    (closed,) = client.methods()
    assert isinstance(closed, ConnectionClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (540, 50, 10)
    assert "'stream' is not supported" in closed.reply_text


def test_it_stores_transient_messages_too() -> None:
    journal = RecordingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    for declaration in (quorum(), QueueDeclare("c", durable=True)):
        client.send(1, declaration)
        lone.sync()
    for name in ("q", "c"):
        client.publish(name, name.encode(), properties=Properties(delivery_mode=1))
    assert [record[-1] for record in journal.records if record[0] == "publish"] == [b"q"]


def test_fan_out_stores_a_transient_message_for_the_quorum_queue_only() -> None:
    host = QueueHost()
    queues = [host.declare("q", queue_type="quorum"), host.declare("c")]
    host.publish(queues, b"x", header=b"\x00\x3c" + bytes(12))
    assert isinstance(host.journal, RecordingJournal)
    ((_, entries, _),) = host.journal.records
    assert [entry.queue_id for entry in entries] == [queues[0].id]


def declared(lone: LoneBroker, name: str, **options: Any) -> str:
    options = {"durable": True} | options
    queue = lone.broker.vhosts["/"].declare_queue(name, **options)
    return queue.limits.queue_type.value


def test_the_default_type_of_a_virtual_host() -> None:
    lone = LoneBroker()
    vhost = lone.broker.vhosts["/"]
    assert declared(lone, "before") == "classic"
    vhost.describe(VHostInfo(default_queue_type="quorum"))
    assert declared(lone, "q") == "quorum"
    assert vhost.queues["q"].arguments == QUORUM
    assert declared(lone, "q") == declared(lone, "q", arguments=QUORUM) == "quorum"
    assert declared(lone, "c", arguments={"x-queue-type": "classic"}) == "classic"
    assert declared(lone, "a", auto_delete=True) == "classic"
    assert declared(lone, "t", durable=False) == "classic"
    assert declared(lone, "", owner=object(), exclusive=True) == "classic"
    with pytest.raises(ChannelException, match="server-named"):
        declared(lone, "")
    assert declared(lone, "before") == "classic", "it was there before the default was"


@pytest.mark.parametrize("default", ["undefined", "nonsense"])
def test_a_default_type_that_is_none(default: str) -> None:
    lone = LoneBroker()
    vhost = lone.broker.vhosts["/"]
    vhost.describe(VHostInfo(default_queue_type=default))
    assert declared(lone, "q") == "classic"
    assert vhost.queues["q"].arguments == {}


def test_streams_as_the_default_are_refused_as_any_stream_is() -> None:
    lone = LoneBroker()
    lone.broker.vhosts["/"].describe(VHostInfo(default_queue_type="stream"))
    with pytest.raises(ConnectionException, match="stream"):
        declared(lone, "q")


def counted(client: LoneClient) -> int:
    client.methods()
    client.send(1, quorum(passive=True))
    (declared,) = client.methods()
    assert isinstance(declared, QueueDeclareOk)
    return declared.consumer_count


def test_who_holds_a_message_is_counted_as_a_consumer(client: LoneClient) -> None:
    client.send(1, quorum(), BasicQos(prefetch_count=1))
    for _ in range(4):
        client.publish("q", b"x")
    client.send(1, BasicGet("q"), BasicGet("q"), BasicGet("q", no_ack=True))
    assert counted(client) == 2
    client.send(1, BasicConsume("q", "idle"), BasicConsume("q", "busy"))
    assert counted(client) == 4
    client.send(1, BasicCancel("busy"), BasicCancel("idle"))
    assert counted(client) == 3
    client.send(1, BasicAck(0, multiple=True))
    assert counted(client) == 0


def test_who_waits_to_be_the_single_active_consumer_is_not_counted(client: LoneClient) -> None:
    arguments = QUORUM | {"x-single-active-consumer": True}
    client.send(1, quorum(arguments=arguments), BasicQos(prefetch_count=1))
    client.publish("q", b"x")
    client.publish("q", b"x")
    client.send(1, BasicConsume("q", "first"), BasicConsume("q", "second"))

    def count() -> int:
        client.methods()
        client.send(1, quorum(arguments=arguments, passive=True))
        return sum(m.consumer_count for m in client.methods() if isinstance(m, QueueDeclareOk))

    assert count() == 1
    client.send(1, BasicCancel("first"))
    assert count() == 2, "the first still holds its message"
    client.send(1, BasicAck(0, multiple=True))
    assert count() == 1
