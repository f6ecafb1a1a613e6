"""basic.ack, nack, reject and recover: tags, and what becomes of the messages."""

from __future__ import annotations

from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicNack,
    BasicQos,
    BasicRecover,
    BasicRecoverAsync,
    BasicRecoverOk,
    BasicReject,
    ChannelClose,
    ConnectionClose,
    Method,
    QueueDeclare,
)
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.settlement import (
    FREED_AT_ONCE,
    TAKEN_AT_ONCE,
    let_go,
    tell_settled,
)
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def holding(count: int, queue: str = "q") -> tuple[LoneClient, Queue]:
    """A client that holds ``count`` deliveries, of messages b"1", b"2", ..."""
    client = LoneBroker().client()
    client.send(1, QueueDeclare(queue), BasicQos(prefetch_count=count))
    for number in range(count):
        client.publish(queue, b"%d" % (number + 1))
    client.send(1, BasicConsume(queue, "tag"))
    client.received()
    return client, client.connection.broker.vhosts["/"].queues[queue]


def ready_bodies(queue: Queue) -> list[bytes]:
    return [bytes(queue.contents[sequence].body) for sequence in sorted(queue.contents)]


@pytest.mark.parametrize(
    "method",
    [
        BasicAck(9, False),
        BasicAck(9, True),
        BasicAck(0, False),
        BasicNack(9, False, True),
        BasicNack(9, True, True),
        BasicReject(9, True),
        BasicReject(0, False),
    ],
)
def test_an_unknown_tag_closes_the_channel_and_settles_nothing(method: Method) -> None:
    client, queue = holding(3)
    client.send(1, method)
    tag = getattr(method, "delivery_tag", None)
    text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
    assert client.methods() == [ChannelClose(406, text, 60, method.METHOD_ID)]
    assert (queue.ready, queue.unacked, queue.acked) == (3, 0, 0)


@pytest.mark.parametrize("method", [BasicAck(0, True), BasicNack(0, True, True)])
def test_tag_0_with_multiple_may_mean_nothing(method: Method) -> None:
    client, queue = holding(1)
    client.send(1, BasicAck(1, False), method)
    assert client.methods() == []
    assert queue.acked == 1


def test_a_tag_is_settled_once() -> None:
    client, queue = holding(2)
    client.send(1, BasicAck(1, False), BasicAck(1, False))
    assert isinstance(client.methods()[0], ChannelClose)
    assert queue.acked == 1


def test_multiple_acks_everything_up_to_a_tag() -> None:
    client, queue = holding(5)
    client.send(1, BasicAck(2, False), BasicAck(4, True))
    assert (queue.acked, queue.unacked) == (4, 1)
    client.send(1, BasicAck(0, True))
    assert (queue.acked, queue.unacked) == (5, 0)


def test_nack_with_requeue_puts_messages_back_where_they_were() -> None:
    client, queue = holding(4)
    client.send(1, BasicAck(2, False))
    client.send(1, BasicQos(prefetch_count=1, global_=True))
    client.received()
    client.send(1, BasicNack(3, True, True))
    assert ready_bodies(queue) == [b"1", b"3"]
    client.send(1, BasicAck(4, False))
    deliver = client.received()[-1]
    assert deliver.body == b"1"
    assert isinstance(deliver.method, BasicDeliver)
    assert deliver.method.redelivered


@pytest.mark.parametrize("settled", ["requeued", "dropped", "acked", "recovered"])
def test_each_consumer_has_its_room_again_after_many_are_settled_at_once(settled: str) -> None:
    """The deliveries of two consumers, one of them with room for two and the other for one."""
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"), BasicQos(prefetch_count=2), BasicConsume("q", "two"))
    client.send(1, BasicQos(prefetch_count=1), BasicConsume("q", "one"))
    for number in range(9):
        client.publish("q", b"%d" % number)
    again = settled in ("requeued", "recovered")
    for turn in range(2):
        delivered = [each for each in client.received() if isinstance(each.method, BasicDeliver)]
        tags = [
            each.method.consumer_tag for each in delivered if isinstance(each.method, BasicDeliver)
        ]
        assert sorted(tags) == ["one", "two", "two"]
        first = 0 if again else 3 * turn
        assert sorted(each.body for each in delivered) == [b"%d" % (first + n) for n in range(3)]
        last = 3 * (turn + 1)
        client.send(
            1,
            {
                "requeued": BasicNack(last, True, True),
                "dropped": BasicNack(last, True, False),
                "acked": BasicAck(last, True),
                "recovered": BasicRecover(True),
            }[settled],
        )


def test_reject_without_requeue_drops() -> None:
    client, queue = holding(2)
    client.send(1, BasicReject(1, False), BasicNack(2, False, False))
    assert (queue.ready, queue.unacked, queue.rejected) == (0, 0, 2)


def test_recover_gives_everything_back_to_anybody() -> None:
    client, queue = holding(2)
    client.send(1, BasicRecover(True))
    ok, *delivered = client.received()
    assert ok.method == BasicRecoverOk()
    assert [delivery.body for delivery in delivered] == [b"1", b"2"]
    client.send(1, BasicRecoverAsync(True))
    assert [received.body for received in client.received()] == [b"1", b"2"]
    assert queue.unacked == 2


@pytest.mark.parametrize("prefetch", [0, 7])
def test_nothing_is_delivered_between_recover_and_its_answer(prefetch: int) -> None:
    """However many turns it takes, and with more ready: a client forgets what it has when that is
    answered."""
    client = LoneBroker(units=1).client()
    client.send(1, QueueDeclare("q"), BasicQos(prefetch_count=prefetch, global_=True))
    for queue_tag in ("one", "two"):
        client.send(1, BasicConsume("q", queue_tag))
    for number in range(40):
        client.publish("q", b"%d" % number)
    held = len(deliveries(client))
    assert held == (prefetch or 40)
    client.send(1, BasicRecover(True))
    ok, *delivered = client.received()
    assert ok.method == BasicRecoverOk()
    assert sorted(int(each.body) for each in delivered) == list(range(held))


def test_a_connection_that_goes_while_its_channel_recovers_loses_nothing() -> None:
    lone = LoneBroker(units=1)
    client = lone.client()
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"))
    for number in range(20):
        client.publish("q", b"%d" % number)
    client.received()
    channel = client.connection.channels[1]
    client.feed(method_frame(1, BasicRecover(True)))
    lone.turn()
    assert channel.state is ChannelState.SUSPENDED, "it takes more than this turn"
    client.disconnect()
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unacked) == (20, 0)


@pytest.mark.parametrize("method", [BasicRecover(False), BasicRecoverAsync(False)])
def test_recover_without_requeue_is_not_implemented(method: Method) -> None:
    client, _ = holding(1)
    client.send(1, method)
    text = "NOT_IMPLEMENTED - requeue=false"
    assert client.methods() == [ConnectionClose(540, text, 60, method.METHOD_ID)]


def test_an_ack_for_a_deleted_queue_is_a_counted_no_op() -> None:
    client, queue = holding(1)
    client.connection.broker.vhosts["/"].delete_queue("q")
    client.received()
    client.send(1, BasicAck(1, False))
    assert client.methods() == []
    assert queue.stale_settlements == 1


def test_gets_and_deliveries_share_the_tags_of_a_channel() -> None:
    client, queue = holding(1)
    client.publish("q", b"2")
    client.send(1, BasicGet("q"))
    assert client.received()[0].body == b"2"
    client.send(1, BasicAck(2, True))
    assert (queue.unacked, client.connection.channels[1].outstanding) == (0, 0)


SETTLEMENTS = st.lists(
    st.tuples(st.sampled_from(["ack", "nack", "reject"]), st.integers(0, 12), st.booleans()),
    max_size=20,
)


@given(SETTLEMENTS)
def test_any_mix_of_single_and_multiple_agrees_with_a_list(
    settlements: list[tuple[str, int, bool]],
) -> None:
    client, queue = holding(10)
    open_tags = list(range(1, 11))
    for kind, tag, multiple in settlements:
        multiple = multiple and kind != "reject"
        method: Method = {
            "ack": BasicAck(tag, multiple),
            "nack": BasicNack(tag, multiple, False),
            "reject": BasicReject(tag, False),
        }[kind]
        client.send(1, method)
        if tag not in open_tags and not (multiple and tag == 0):
            assert isinstance(client.methods()[-1], ChannelClose)
            assert queue.unacked == 0
            return
        open_tags = [
            each
            for each in open_tags
            if each != tag and not (multiple and (tag == 0 or each < tag))
        ]
        assert list(client.connection.channels[1].unacked) == open_tags
    assert queue.unacked == client.connection.channels[1].outstanding == len(open_tags)


class CountingDict(dict[int, Lease]):
    """Counts how often something is looked for."""

    pops = 0

    def pop(self, key: int, default: Lease | None = None) -> Lease | None:  # type: ignore[override]
        self.pops += 1
        return super().pop(key, default)


def test_settling_all_does_not_pass_the_tags_that_were_settled_one_by_one() -> None:
    client, _ = holding(200)
    channel = client.connection.channels[1]
    for tag in range(1, 200):
        client.send(1, BasicAck(tag, False))
    unacked = channel.unacked = CountingDict(channel.unacked)
    client.send(1, BasicNack(0, True, False))
    assert unacked == {}
    assert unacked.pops == 1


def deliveries(client: LoneClient) -> list[tuple[str, bytes]]:
    """Consumer tag and body of each delivery that has come."""
    return [
        (each.method.consumer_tag, bytes(each.body or b""))
        for each in client.received()
        if isinstance(each.method, BasicDeliver)
    ]


@pytest.mark.parametrize("method", [BasicRecover(True), BasicNack(0, True, True)])
@pytest.mark.parametrize(
    ("qos", "again"),
    [
        (BasicQos(), [("b", b"1"), ("a", b"3"), ("b", b"2")]),
        (BasicQos(0, 9, True), [("b", b"1"), ("a", b"3"), ("b", b"2")]),
        (BasicQos(0, 3, True), [("b", b"1"), ("a", b"2"), ("b", b"3")]),
    ],
    ids=["no prefetch", "one of the channel with room", "and without"],
)
def test_what_one_consumer_had_is_handed_out_before_another_s_comes_back(
    method: Method, qos: BasicQos, again: list[tuple[str, bytes]]
) -> None:
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"), qos, BasicConsume("q", "a"), BasicConsume("q", "b"))
    for body in (b"1", b"2", b"3"):
        client.publish("q", body)
    assert deliveries(client) == [("a", b"1"), ("b", b"2"), ("a", b"3")]
    client.send(1, method)
    assert deliveries(client) == again


def test_holders_are_told_and_leases_freed_in_portions() -> None:
    client, _ = holding(3 * TAKEN_AT_ONCE)
    channel = client.connection.channels[1]
    broker = client.connection.broker
    budget = broker.budget
    leases = list(channel.unacked.values())
    consumer = channel.consumers["tag"]
    held = consumer.outstanding
    budget.units = 1
    steps = tell_settled(leases, budget)
    for told in (1, 2, 3):
        budget.refill()
        next(steps)
        assert held - consumer.outstanding == told * TAKEN_AT_ONCE

    sizes = [len(leases)]
    budget.refill()
    let_go(channel, leases)
    sizes.append(len(leases))
    while leases:
        budget.refill()
        broker.work.run()
        sizes.append(len(leases))
    assert sizes == list(range(3 * TAKEN_AT_ONCE, -1, -FREED_AT_ONCE))


def test_few_leases_are_freed_by_whoever_has_them() -> None:
    client, _ = holding(3)
    channel = client.connection.channels[1]
    let_go(channel, list(channel.unacked.values()))
    assert not client.connection.broker.work


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_channels_window_goes_round_the_queues_that_have_something(window: int) -> None:
    """Consumers of empty queues between them must not give one queue more turns than another."""
    lone = LoneBroker()
    client = lone.client()
    queues = ["a", "b", "c", "empty", "empty too"]
    client.send(1, BasicQos(prefetch_count=window, global_=True))
    for queue in queues:
        client.send(1, QueueDeclare(queue), BasicConsume(queue, queue))
    for queue in queues[:3]:
        for _ in range(60):
            client.publish(queue)
    tags, handed = deque[int](), Counter[str]()
    for _ in range(60):
        for got in client.received():
            if isinstance(got.method, BasicDeliver):
                tags.append(got.method.delivery_tag)
                handed[got.method.consumer_tag] += 1
        client.send(1, BasicAck(tags.popleft()))
    assert min(handed[queue] for queue in "abc") >= 15, handed
