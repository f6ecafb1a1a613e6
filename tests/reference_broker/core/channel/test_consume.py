"""basic.consume: the consumer that a queue gets, by its type, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire.methods import (
    BasicConsume,
    BasicConsumeOk,
    BasicQos,
    ChannelClose,
    ConnectionClose,
    QueueDeclare,
)
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.consumer import Consumer, CountingConsumer
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

QUORUM = {"x-queue-type": "quorum"}


def client_of(arguments: dict[str, Any] | None = None) -> tuple[LoneClient, Channel]:
    client = LoneBroker().client()
    durable = arguments is not None
    client.send(1, QueueDeclare("q", durable=durable, arguments=arguments or {}))
    client.received()
    return client, client.connection.channels[1]


@pytest.mark.parametrize(("arguments", "kind"), [(None, Consumer), (QUORUM, CountingConsumer)])
def test_a_queue_that_counts_gets_a_consumer_that_counts(
    arguments: dict[str, Any] | None, kind: type[Consumer]
) -> None:
    client, channel = client_of(arguments)
    client.send(1, BasicConsume("q", "tag"))
    consumer = channel.consumers["tag"]
    assert type(consumer) is kind
    assert list(channel.vhost.queues["q"].consumers) == [consumer]


@pytest.mark.parametrize(("arguments", "exclusive"), [(None, True), (QUORUM, False)])
def test_a_quorum_queue_takes_no_notice_of_exclusive(
    arguments: dict[str, Any] | None, exclusive: bool
) -> None:
    client, channel = client_of(arguments)
    client.send(1, BasicConsume("q", "tag", exclusive=True))
    assert channel.consumers["tag"].exclusive is exclusive


def test_a_consumer_has_the_prefetch_of_the_qos_before_it() -> None:
    client, channel = client_of()
    client.send(1, BasicQos(prefetch_count=3), BasicConsume("q", "three"))
    client.send(1, BasicQos(prefetch_count=5), BasicConsume("q", "five"))
    assert [consumer.prefetch for consumer in channel.consumers.values()] == [3, 5]


def test_a_bad_argument_changes_nothing() -> None:
    client, channel = client_of()
    client.send(1, BasicConsume("q", "tag", arguments={"x-priority": "high"}))
    [close] = client.methods()
    assert isinstance(close, ChannelClose)
    assert (close.reply_code, close.class_id, close.method_id) == (406, 60, 20)
    assert list(channel.vhost.queues["q"].consumers) == []


def test_a_queue_that_is_not_to_be_had_leaves_the_channel_as_it_was() -> None:
    client, channel = client_of()
    client.send(1, BasicConsume("q", "first", exclusive=True), BasicConsume("q", "second"))
    first, close = client.methods()
    assert first == BasicConsumeOk("first")
    assert isinstance(close, ChannelClose)
    assert close.reply_code == 403
    assert "second" not in channel.consumers


def test_a_quorum_queue_has_no_consumers_on_a_channel_with_a_global_prefetch() -> None:
    client, _ = client_of(QUORUM)
    client.send(1, BasicQos(prefetch_count=1, global_=True), BasicConsume("q", "tag"))
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    assert close.reply_code == 540


@pytest.mark.parametrize(("no_ack", "watched"), [(False, True), (True, False)])
def test_only_deliveries_that_are_acked_can_time_out(no_ack: bool, watched: bool) -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True, arguments={"x-consumer-timeout": 60_000}))
    before = lone.broker.next_deadline()
    client.send(1, BasicConsume("q", "tag", no_ack=no_ack))
    assert (lone.broker.next_deadline() != before) is watched
