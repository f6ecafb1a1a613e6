"""basic.ack frames, one after another in a read: the same as each in a read of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicQos,
    ChannelClose,
    ConnectionClose,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

acks = st.lists(
    st.tuples(st.integers(0, 12), st.booleans()) | st.tuples(st.integers(1, 9), st.just(False)),
    max_size=9,
)


def holder(count: int = 10) -> LoneClient:
    """A client with ``count`` messages in its hands."""
    client = LoneBroker().client()
    client.send(1, QueueDeclare("q"))
    client.send(1, BasicQos(prefetch_count=count))
    client.send(1, BasicConsume(queue="q", consumer_tag="c", nowait=True))
    for _ in range(count):
        client.publish("q", b"body")
    client.received()
    return client


def frame(tag: int, multiple: bool = False) -> bytes:
    return method_frame(1, BasicAck(tag, multiple))


@given(acks)
def test_acks_in_one_read_come_to_the_same_as_in_many(wanted: list[tuple[int, bool]]) -> None:
    seen = []
    for at_once in (True, False):
        client = holder()
        frames = [frame(*each) for each in wanted]
        for data in [b"".join(frames)] if at_once else frames:
            client.send_bytes(data)
        queue = client.connection.broker.vhosts["/"].queues["q"]
        closes = [each.method for each in client.received() if type(each.method) is ChannelClose]
        seen.append((queue.acked, queue.ready, queue.unacked, closes))
    assert seen[0] == seen[1]


def test_what_is_acked_before_a_mistake_is_acked() -> None:
    client = holder()
    client.send_bytes(frame(1) + frame(2) + frame(2) + frame(3))
    assert isinstance(client.received()[-1].method, ChannelClose)
    assert client.connection.broker.vhosts["/"].queues["q"].acked == 2


def test_an_ack_that_is_cut_waits_for_its_rest() -> None:
    client = holder()
    client.send_bytes(frame(1) + frame(2)[:-1])
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert queue.acked == 1
    client.send_bytes(frame(2)[-1:])
    assert queue.acked == 2


def test_an_ack_without_its_end_ends_the_connection_behind_those_before() -> None:
    client = holder()
    client.send_bytes(frame(1) + frame(2)[:-1] + b"\0" + frame(3))
    assert isinstance(client.received()[-1].method, ConnectionClose)
    assert client.connection.broker.vhosts["/"].queues["q"].acked == 1


@pytest.mark.parametrize("commit", [True, False])
def test_in_a_transaction_they_wait_for_its_end(commit: bool) -> None:
    client = holder()
    client.send(1, TxSelect())
    client.send_bytes(frame(1) + frame(2) + frame(3))
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert queue.acked == 0
    if commit:
        client.send(1, TxCommit())
        assert queue.acked == 3
