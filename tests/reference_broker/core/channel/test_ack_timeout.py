"""A delivery that is held for too long: taken back, its consumer cancelled, and a late ack
harmless."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicQos,
    ChannelClose,
    Method,
    QueueDeclare,
    QueueDeclareOk,
)
from reference_broker.core.base.limits import Limits
from reference_broker.core.channel.ack_timeout import LOOKS_PER_TIMEOUT, MARKS_MAX
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

TIMEOUT_S = 20.0
LATE_S = TIMEOUT_S * 2 / LOOKS_PER_TIMEOUT


@pytest.fixture
def lone() -> LoneBroker:
    return LoneBroker(limits=Limits(consumer_timeout_ms=round(TIMEOUT_S * 1000)))


def with_messages(lone: LoneBroker, count: int = 1, **arguments: Any) -> LoneClient:
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments=arguments))
    for number in range(count):
        client.publish("q", b"%d" % number)
    client.received()
    return client


def queue_of(lone: LoneBroker) -> Queue:
    return lone.broker.vhosts["/"].queues["q"]


def kinds(client: LoneClient) -> list[type[Method]]:
    return [type(method) for method in client.methods()]


def test_never_early_then_the_consumer_is_cancelled_and_the_message_ready(lone: LoneBroker) -> None:
    client = with_messages(lone)
    client.send(1, BasicConsume("q", consumer_tag="c"))
    client.received()
    lone.pass_time(TIMEOUT_S)
    assert client.received() == []
    lone.pass_time(LATE_S)
    (cancel,) = client.methods()
    assert cancel == BasicCancel("c", True)
    queue = queue_of(lone)
    assert (queue.ready, queue.unacked, len(queue.consumers)) == (1, 0, 0)


@pytest.mark.parametrize(
    "late", [BasicAck(1), BasicAck(1, True), BasicNack(1, False, True), BasicNack(1, False, False)]
)
def test_a_late_settlement_does_nothing(lone: LoneBroker, late: Method) -> None:
    client = with_messages(lone)
    client.send(1, BasicConsume("q"))
    lone.pass_time(TIMEOUT_S + LATE_S)
    client.received()
    client.send(1, late, QueueDeclare("q"))
    (declared,) = client.methods()
    assert isinstance(declared, QueueDeclareOk)
    assert declared.message_count == 1
    client.send(1, BasicAck(1))
    (closed,) = client.methods()
    assert isinstance(closed, ChannelClose), "a second one is as wrong as ever"


def test_what_is_given_to_another_meanwhile_is_the_others(lone: LoneBroker) -> None:
    client = with_messages(lone)
    client.send(1, BasicConsume("q"))
    other = lone.client()
    other.send(1, BasicConsume("q"))
    lone.pass_time(TIMEOUT_S + LATE_S)
    delivered = other.received()[-1]
    assert isinstance(delivered.method, BasicDeliver)
    assert delivered.method.redelivered
    client.send(1, BasicAck(1))
    assert queue_of(lone).unacked == 1
    other.send(1, BasicAck(1))
    assert queue_of(lone).unacked == 0


def test_who_can_not_be_told_loses_the_channel(lone: LoneBroker) -> None:
    with_messages(lone)
    client = lone.client(capabilities={})
    client.send(1, BasicConsume("q"))
    client.received()
    lone.pass_time(TIMEOUT_S + LATE_S)
    (closed,) = client.methods()
    assert closed == ChannelClose(
        406,
        "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used:"
        " 20000 ms. This timeout value can be configured, see consumers doc guide to learn more",
        0,
        0,
    )
    assert queue_of(lone).ready == 1


def test_a_basic_get_has_no_consumer_to_cancel(lone: LoneBroker) -> None:
    client = with_messages(lone)
    client.send(1, BasicGet("q"))
    assert kinds(client) == [BasicGetOk]
    lone.pass_time(TIMEOUT_S + LATE_S)
    assert kinds(client) == [ChannelClose]
    assert queue_of(lone).ready == 1


def test_who_settles_in_time_is_left_alone(lone: LoneBroker) -> None:
    client = with_messages(lone)
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q"))
    for tag in range(1, 60):
        lone.pass_time(TIMEOUT_S * 0.9)
        client.send(1, BasicAck(tag))
        client.publish("q")
    assert BasicCancel not in kinds(client)
    assert queue_of(lone).consumers


@pytest.mark.parametrize(
    ("queue", "consumer", "seconds"),
    [
        ({"x-consumer-timeout": 5_000}, {}, 5),
        ({"x-consumer-timeout": 5_000}, {"x-consumer-timeout": 40_000}, 40),
        ({}, {"x-consumer-timeout": 3_000}, 3),
        ({"x-queue-type": "quorum"}, {}, TIMEOUT_S),
    ],
)
def test_the_consumers_time_goes_before_the_queues_and_that_before_the_brokers(
    lone: LoneBroker, queue: dict[str, Any], consumer: dict[str, Any], seconds: float
) -> None:
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True, arguments=queue))
    client.publish("q")
    client.send(1, BasicConsume("q", arguments=consumer))
    client.received()
    lone.pass_time(seconds)
    assert client.received() == []
    lone.pass_time(seconds * 2 / LOOKS_PER_TIMEOUT)
    assert kinds(client) == [BasicCancel]


def test_it_is_no_failure_of_the_message(lone: LoneBroker) -> None:
    client = lone.client()
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": 0}
    client.send(1, QueueDeclare("q", durable=True, arguments=arguments))
    client.publish("q")
    for _ in range(3):
        client.send(1, BasicConsume("q"))
        lone.pass_time(TIMEOUT_S + LATE_S)
    assert queue_of(lone).ready == 1
    client.send(1, BasicGet("q"))
    counts = queue_of(lone).delivery_counts
    assert counts is not None
    assert [counts.of(sequence) for sequence in queue_of(lone).leases] == [(0, 3)]


def test_only_what_is_overdue_is_taken_and_the_rest_can_be_settled(lone: LoneBroker) -> None:
    client = with_messages(lone, 1)
    client.send(1, BasicConsume("q"))
    lone.pass_time(TIMEOUT_S * 0.8)
    client.publish("q", b"later")
    lone.pass_time(TIMEOUT_S * 0.5)
    client.received()
    assert (queue_of(lone).ready, queue_of(lone).unacked) == (1, 1)
    client.send(1, BasicAck(2))
    assert queue_of(lone).unacked == 0
    assert client.received() == []


def test_a_cancelled_consumers_next_timeout_closes_nothing(lone: LoneBroker) -> None:
    client = with_messages(lone, 1)
    client.send(1, BasicConsume("q"))
    lone.pass_time(TIMEOUT_S * 0.8)
    client.publish("q", b"later")
    lone.pass_time(2 * TIMEOUT_S)
    assert kinds(client).count(BasicCancel) == 1
    assert (queue_of(lone).ready, queue_of(lone).unacked) == (2, 0)
    client.send(1, BasicAck(2, True), QueueDeclare("q"))
    assert kinds(client) == [QueueDeclareOk]


def test_none_is_for_ever_and_an_idle_channel_is_not_looked_at() -> None:
    lone = LoneBroker(limits=Limits(consumer_timeout_ms=0))
    client = with_messages(lone)
    others = len(lone.broker.timers)
    client.send(1, BasicConsume("q"))
    assert len(lone.broker.timers) == others
    lone.pass_time(3_600)
    assert queue_of(lone).unacked == 1
    client.send(1, BasicConsume("q", consumer_tag="c", arguments={"x-consumer-timeout": 1_000}))
    assert len(lone.broker.timers) == others + 1
    client.disconnect()
    assert len(lone.broker.timers) == others


def test_a_get_that_is_settled_ends_the_looking(lone: LoneBroker) -> None:
    client = with_messages(lone)
    others = len(lone.broker.timers)
    client.send(1, BasicGet("q"), BasicAck(1))
    assert len(lone.broker.timers) == others + 1
    lone.pass_time(TIMEOUT_S)
    assert len(lone.broker.timers) == others


def test_one_that_is_stuck_among_many_is_found_and_notes_are_bounded() -> None:
    lone = LoneBroker()
    client = with_messages(lone)
    client.send(1, BasicConsume("q", arguments={"x-consumer-timeout": 1_800_000}))
    client.send(1, BasicConsume("q", consumer_tag="x", arguments={"x-consumer-timeout": 2_000}))
    for tag in range(2, 2_000):
        client.publish("q")
        client.send(1, BasicAck(tag))
        client.output()
        lone.pass_time(0.5)
    channel = client.connection.channels[1]
    assert len(channel.ack_timeout._tags) <= MARKS_MAX
    assert list(channel.unacked) == [1]
    lone.pass_time(1_800)
    assert queue_of(lone).ready == 1


def test_a_suspended_channel_is_not_closed_in_the_middle(lone: LoneBroker) -> None:
    with_messages(lone)
    client = lone.client(capabilities={})
    client.send(1, BasicConsume("q"))
    channel = client.connection.channels[1]
    channel.hold_back(1, b"")
    lone.pass_time(TIMEOUT_S + LATE_S)
    assert queue_of(lone).unacked == 1
    channel.parked.clear()
    channel.go_on()
    lone.pass_time(LATE_S)
    assert kinds(client)[-1] is ChannelClose


def test_a_short_time_beside_a_long_one_shortens_nothing(lone: LoneBroker) -> None:
    client = with_messages(lone, 2)
    client.send(1, BasicQos(prefetch_count=1))
    client.send(1, BasicConsume("q", consumer_tag="long"))
    client.send(1, BasicConsume("q", consumer_tag="short", arguments={"x-consumer-timeout": 2_000}))
    client.received()
    lone.pass_time(3)
    assert client.methods() == [BasicCancel("short", True)]
    assert queue_of(lone).ready == 1
    lone.pass_time(TIMEOUT_S - 3)
    assert client.methods() == []
    lone.pass_time(LATE_S)
    assert client.methods() == [BasicCancel("long", True)]


def test_what_was_taken_back_is_not_held_nor_looked_at_again(lone: LoneBroker) -> None:
    client = with_messages(lone)
    client.send(1, BasicConsume("q"))
    lone.pass_time(10 * TIMEOUT_S)
    (lease,) = client.connection.channels[1].unacked.values()
    assert lease.content.body == b""
    assert queue_of(lone).stale_settlements == 0


def bounded(
    capabilities: dict[str, Any] | None = None,
) -> tuple[LoneBroker, LoneClient, LoneClient]:
    """A client that holds 300 messages of a queue for too long, and another one, in a broker with
    short turns: it has just begun to look at them."""
    lone = LoneBroker()
    filling = with_messages(lone, 300, **{"x-consumer-timeout": 10_000})
    filling.disconnect()
    other = lone.client()
    client = lone.client(capabilities=capabilities)
    client.send(1, BasicConsume("q", "c"), BasicConsume("q", "idle"))
    client.received()
    lone.pass_time(9.5)
    lone.broker.budget.units = 20
    lone.broker.budget.refill()
    lone.now_s += 2
    lone.broker.tick(lone.now_s, lone.wall_ms)
    assert client.connection.is_busy
    return lone, client, other


def turns_until_ready(lone: LoneBroker) -> int:
    turns = 0
    while not lone.turn():
        turns += 1
        assert lone.overdrawn <= 40
    return turns


def test_many_come_back_in_portions_and_nobody_has_one_before_the_last() -> None:
    lone, client, other = bounded()
    other.feed(method_frame(1, BasicConsume("q")))
    (queue, seen) = (queue_of(lone), 0)
    turns = 0
    while queue.returning or not queue.requeued:
        lone.turn()
        turns += 1
        assert lone.overdrawn <= 40
        seen += kinds(other).count(BasicDeliver) if queue.returning else 0
    assert seen == 0
    assert turns > 10
    lone.complete()
    bodies = [received.body for received in other.received() if received.body]
    assert bodies == [b"%d" % number for number in range(300)]
    assert sorted(kinds(client), key=str) == [BasicCancel, BasicCancel]


def test_a_channel_that_is_closed_for_it_gets_none_again() -> None:
    lone, client, _ = bounded(capabilities={})
    assert turns_until_ready(lone) > 10
    assert kinds(client) == [ChannelClose]
    queue = queue_of(lone)
    assert (queue.ready, queue.unacked, queue.requeued) == (300, 0, 300)
    assert (queue.returning, len(queue.consumers)) == (0, 0)


def test_an_ack_meanwhile_waits_and_does_nothing() -> None:
    lone, client, _ = bounded()
    client.feed(method_frame(1, BasicAck(0, True)))
    assert turns_until_ready(lone) > 10
    assert kinds(client).count(BasicCancel) == 2
    assert (queue_of(lone).ready, queue_of(lone).stale_settlements) == (300, 300)


def test_a_connection_that_ends_meanwhile_gives_each_back_once() -> None:
    lone, client, _ = bounded()
    client.connection.drop("for the test")
    assert turns_until_ready(lone) > 10
    queue = queue_of(lone)
    assert (queue.ready, queue.unacked, queue.returning) == (300, 0, 0)
    assert queue.requeued == 300
