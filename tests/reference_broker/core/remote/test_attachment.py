"""A consumer's attachment at the home of its queue: what it hands out, and what it gives back."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicQos,
    QueueBind,
    QueueDeclare,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.memory_watermark import held_bytes
from reference_broker.core.queue.removal import NO_CONTENT
from reference_broker.core.remote.attachment import WINDOW_BYTES, WINDOW_MESSAGES
from reference_broker.core.remote.ports import Settlement, Terms
from reference_broker.core.vhost.firehose import TRACE_EXCHANGE
from reference_broker.testing.homes.scripted_nodes import ScriptedNodes, content
from reference_broker.testing.lone_queue import LoneConsumer


@pytest.fixture
def nodes() -> ScriptedNodes:
    return ScriptedNodes()


def fill_the_socket(nodes: ScriptedNodes) -> None:
    """Have the client stop reading."""
    nodes.deliver(1, b"x" * nodes.client.connection.delivery_limit)
    assert not nodes.client.connection.output_size < nodes.client.connection.delivery_limit


def bodies(nodes: ScriptedNodes) -> list[bytes]:
    nodes.lone.complete()
    return [each.body for each in nodes.client.received() if isinstance(each.method, BasicDeliver)]


@pytest.mark.parametrize("comes", ["before the leave", "behind it"])
def test_what_comes_without_acks_is_handed_out_though_nobody_reads(
    nodes: ScriptedNodes, comes: str
) -> None:
    """The home has it no more, so it can't go back."""
    nodes.consume(no_ack=True)
    fill_the_socket(nodes)
    if comes == "before the leave":
        nodes.deliver(2, b"waits")
        nodes.ask(BasicCancel("tag"))
    else:
        nodes.ask(BasicCancel("tag"))
        nodes.deliver_run(2, b"waits")
    assert bodies(nodes)[1:] == [b"waits"]
    assert Settlement.UNSEEN not in [asked[2] for asked in nodes.asks() if asked[0] == "settle"]


def test_what_comes_without_acks_waits_while_others_have_used_up_the_prefetch(
    nodes: ScriptedNodes,
) -> None:
    nodes.ask(BasicQos(prefetch_count=1, global_=True), QueueDeclare("here"))
    nodes.consume(no_ack=True)
    nodes.ask(BasicConsume("here", "other"))
    nodes.client.publish("here", b"holds the room")
    assert bodies(nodes) == [b"holds the room"]
    nodes.deliver(1, b"waits")
    assert bodies(nodes) == []
    nodes.ask(BasicAck(1))
    assert bodies(nodes) == [b"waits"]
    assert {asked[0] for asked in nodes.asks()} == {"attach", "grant"}


def test_no_octets_are_granted_where_no_message_is(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=2)
    nodes.asks()
    size = WINDOW_BYTES * 3 // 4
    granted = []
    for number in (1, 2):
        nodes.deliver(number, b"x" * size)
        assert len(bodies(nodes)) == 1
        nodes.client.resume_writing()
        granted += nodes.asks()
    assert granted == [("grant", 1, 2, size + WINDOW_BYTES)]


def test_a_run_is_handed_out_as_leases_that_hold_no_message(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver_run(5, b"1", b"2", b"3")
    assert bodies(nodes) == [b"1", b"2"]
    assert list(nodes.queue.leases) == [5, 6]
    assert all(lease.content is NO_CONTENT for lease in nodes.queue.leases.values())


def test_one_that_was_handed_out_before_is_a_lease_that_holds_no_message(
    nodes: ScriptedNodes,
) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(5, b"1", redelivered=True)
    assert bodies(nodes) == [b"1"]
    assert nodes.queue.leases[5].content is NO_CONTENT


@pytest.mark.parametrize("no_ack", [True, False])
def test_what_is_handed_out_is_counted(nodes: ScriptedNodes, no_ack: bool) -> None:
    nodes.consume(no_ack=no_ack)
    nodes.deliver_run(1, b"1", b"2", b"3")
    nodes.deliver(4, b"4", redelivered=True)
    queue = nodes.queue
    assert (queue.delivered, queue.redelivered_count) == (4, 1)
    assert queue.delivered_no_ack == (4 if no_ack else 0)
    nodes.ask(BasicCancel("tag"))
    nodes.deliver(5, b"late")
    assert queue.delivered == 5


def test_what_is_handed_out_is_traced(nodes: ScriptedNodes) -> None:
    vhost = nodes.lone.broker.vhosts["/"]
    nodes.ask(QueueDeclare("seen"), QueueBind("seen", TRACE_EXCHANGE, "deliver.#"))
    vhost.describe(VHostInfo(tracing=True))
    nodes.consume()
    nodes.deliver_run(1, b"1", b"2", b"3")
    nodes.deliver(4, b"4", redelivered=True)
    assert bodies(nodes) == [b"1", b"2", b"3", b"4"]
    seen = [bytes(it.body) for it in vhost.queues["seen"].contents.values()]
    assert seen == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("is_run", [True, False])
def test_much_is_handed_out_in_portions(is_run: bool) -> None:
    nodes = ScriptedNodes(units=10)
    nodes.consume(no_ack=True)
    nodes.lone.overdrawn = 0
    give = nodes.taker.deliver
    acts = [
        partial(give, number, not is_run or not number % 20, content(b"%d" % number))
        for number in range(1, 201)
    ]
    nodes.take(*acts)
    assert bodies(nodes) == [b"%d" % number for number in range(1, 201)]
    assert nodes.lone.overdrawn < 10


def test_nothing_is_granted_before_the_client_knows_its_consumer() -> None:
    nodes = ScriptedNodes()
    consumer = Unknown()
    steps = nodes.queue.attach(consumer, Terms("tag", False, False, b""))
    nodes.take(partial(next, steps))
    nodes.take(nodes.taker.attached, partial(nodes.queue.wake, consumer))
    assert [asked[0] for asked in nodes.asks()] == ["attach"]
    with pytest.raises(StopIteration) as end:
        next(steps)
    nodes.take(end.value.value.begin)
    assert nodes.asks() == [("grant", 1, WINDOW_MESSAGES, WINDOW_BYTES)]


class Unknown(LoneConsumer):
    """A consumer that no channel knows."""

    def room(self) -> int:
        return self.credit

    def note_waiting(self, octets: int) -> None:
        pass

    def cancelled_by_broker(self) -> None:
        pass


def test_every_consumer_of_a_queue_gets_what_came_for_it_in_one_turn(nodes: ScriptedNodes) -> None:
    nodes.consume()
    nodes.ask(BasicConsume("q", "other"))
    nodes.take(nodes.home.takers[2].attached)
    nodes.hears()
    nodes.take(
        partial(nodes.home.takers[1].deliver, 1, False, content(b"1")),
        partial(nodes.home.takers[2].deliver, 2, False, content(b"2")),
    )
    assert sorted(bodies(nodes)) == [b"1", b"2"]


def test_what_was_handed_out_before_is_marked_among_what_was_not(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=5)
    give = nodes.taker.deliver
    again = [False, True, False, True, True]
    nodes.take(*[partial(give, 5 + n, it, content(b"x")) for n, it in enumerate(again)])
    assert [delivered.redelivered for delivered in nodes.hears()] == again
    assert nodes.queue.redelivered_count == 3


def test_nothing_that_waited_is_handed_out_or_settled_when_the_queue_is_gone(
    nodes: ScriptedNodes,
) -> None:
    nodes.consume()
    fill_the_socket(nodes)
    nodes.deliver(2)
    nodes.asks()
    nodes.take(nodes.taker.gone)
    nodes.hears()
    nodes.client.resume_writing()
    assert (nodes.hears(), nodes.asks()) == ([], [])


def held(nodes: ScriptedNodes) -> int:
    """The account, but for the part of the connection."""
    broker = nodes.lone.broker
    return held_bytes(broker) - sum(it.memory_bytes for it in broker.connections.values())


SIZE = 10_000


@pytest.mark.parametrize("no_ack", [True, False])
@pytest.mark.parametrize("is_run", [True, False])
@pytest.mark.parametrize(
    "end", ["read on", "cancel", "disconnect", "queue gone", "home lost", "era over"]
)
def test_what_waits_is_in_the_memory_count(
    nodes: ScriptedNodes, no_ack: bool, is_run: bool, end: str
) -> None:
    before = held(nodes)
    channel = nodes.client.connection.channels[1]
    nodes.consume(no_ack=no_ack)
    fill_the_socket(nodes)
    consuming = held(nodes)
    if is_run:
        nodes.deliver_run(2, *[b"x" * SIZE] * 3)
    else:
        for number in (2, 3, 4):
            nodes.deliver(number, b"x" * SIZE, redelivered=number == 3)
    assert 3 * SIZE < held(nodes) - consuming < 3 * (SIZE + 500)
    if end == "read on":
        nodes.hears()
        nodes.client.resume_writing()
    elif end == "cancel":
        nodes.ask(BasicCancel("tag"))
        nodes.lone.take(nodes.taker.detached)
    elif end == "disconnect":
        nodes.client.disconnect()
        nodes.lone.take(nodes.taker.detached)
    elif end == "queue gone":
        nodes.lone.take(nodes.taker.gone)
    elif end == "home lost":
        nodes.lone.take(nodes.home.lose)
    else:
        nodes.home.era += 1
        nodes.lone.take(nodes.queue.renew)
    nodes.lone.complete()
    assert channel.waiting_bytes == 0
    assert held(nodes) - before < SIZE


def test_what_is_given_back_does_not_wait(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.deliver(2, b"x" * SIZE)
    nodes.lone.complete()
    assert nodes.client.connection.channels[1].waiting_bytes == 0


@pytest.mark.parametrize("first", ["attached", "nothing"])
def test_a_consumer_whose_queue_goes_as_it_comes_is_cancelled(
    nodes: ScriptedNodes, first: str
) -> None:
    nodes.ask(BasicConsume("q", "tag"))
    before = [nodes.taker.attached] if first == "attached" else []
    nodes.take(*before, nodes.taker.gone)
    assert nodes.hears() == [BasicConsumeOk("tag"), BasicCancel("tag", nowait=True)]
    nodes.ask(BasicCancel("tag"))
    assert nodes.hears() == [BasicCancelOk("tag")]
    assert not nodes.queue.consumers
    assert [asked[0] for asked in nodes.asks()] == ["attach"]
