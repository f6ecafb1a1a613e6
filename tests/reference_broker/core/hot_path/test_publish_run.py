"""Runs of publishes: what is collected comes to the same as one message at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, content_frames, encode_header
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicNack,
    BasicPublish,
    ChannelClose,
    ConfirmSelect,
    QueueBind,
    QueueDeclare,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.hot_path.publish_run import RUN_MESSAGES, enqueue_run
from reference_broker.core.index.index import CHUNK_ENTRIES
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.index.priority import first_sequence
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.vhost.firehose import TRACE_EXCHANGE
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.homes.scripted_nodes import ScriptedNodes
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.lone_queue import QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

FRAME_MAX = 131_072

messages = st.lists(
    st.tuples(
        st.sampled_from(["q", "q", "q", "r"]),
        st.sampled_from([b"", b"a", b"bc", b"x" * 300]),
        st.fixed_dictionaries(
            {},
            optional={
                "delivery_mode": st.sampled_from([1, 2]),
                "message_id": st.sampled_from(["1", "2", "333"]),
                "expiration": st.just("60000"),
                "user_id": st.just("guest"),
                "headers": st.sampled_from([{}, {"a": 1}, {"CC": ["r"]}]),
                "content_type": st.sampled_from(["text/plain", "text/other"]),
            },
        ),
    ),
    max_size=12,
)


def frames(key: str, body: bytes, **properties: object) -> bytes:
    return content_frames(1, BasicPublish("", key), Properties(**properties), body, FRAME_MAX)  # type: ignore[arg-type]


def publisher() -> LoneClient:
    client = LoneBroker().client()
    for name in ("q", "r"):
        client.send(1, QueueDeclare(name, durable=True))
    client.send(1, ConfirmSelect())
    client.received()
    return client


def delivered(client: LoneClient) -> list[tuple[str, bytes, bytes]]:
    for name in ("q", "r"):
        client.send(1, BasicConsume(queue=name, consumer_tag=name, no_ack=True, nowait=True))
    return [
        (each.method.consumer_tag, each.header, each.body)
        for each in client.received()
        if isinstance(each.method, BasicDeliver)
    ]


@given(messages)
def test_one_read_comes_to_the_same_as_many(
    wanted: list[tuple[str, bytes, dict[str, object]]],
) -> None:
    packets = [frames(key, body, **properties) for key, body, properties in wanted]
    at_once, one_by_one = publisher(), publisher()
    at_once.send_bytes(b"".join(packets))
    for packet in packets:
        one_by_one.send_bytes(packet)
    queues = [
        {name: (q.published, q.header_bytes, q.ready, q.ready_bytes) for name, q in found.items()}
        for found in (
            client.connection.broker.vhosts["/"].queues for client in (at_once, one_by_one)
        )
    ]
    assert queues[0] == queues[1]
    assert delivered(at_once) == delivered(one_by_one)


def test_a_read_of_alike_messages_is_one_call_of_the_journal() -> None:
    journal = CountingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.send(1, ConfirmSelect())
    packets = [
        frames("q", bytes([number]) * (1 + number % 3), delivery_mode=2, message_id=str(number))
        for number in range(10, 60)
    ]
    client.send_bytes(b"".join(packets) + packets[0][:-1])
    assert journal.runs == [49], "the first one has found the route"
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 50
    client.send_bytes(packets[0][-1:])
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 51


def test_a_mistake_behind_a_run_ends_the_channel_and_not_the_run() -> None:
    client = publisher()
    good = [frames("q", b"ab"), frames("q", b"cd"), frames("q", b"ef")]
    client.send_bytes(b"".join(good) + frames("q", b"gh", expiration="never"))
    queue = client.connection.broker.vhosts["/"].queues["q"]
    assert [bytes(each.body) for each in queue.contents.values()] == [b"ab", b"cd", b"ef"]
    assert isinstance(client.received()[-1].method, ChannelClose)


@pytest.mark.parametrize("before", [0, 1, 2, 5])
def test_a_mistake_is_answered_alike_wherever_it_stands(before: int) -> None:
    """RabbitMQ looks at the sender first, and then at the expiration."""
    client = publisher()
    wrong = frames("q", b"ab", user_id="other", expiration="never")
    client.send_bytes(frames("q", b"ab") * before + wrong)
    close = client.received()[-1].method
    assert isinstance(close, ChannelClose)
    assert "user_id property set to 'other'" in close.reply_text


def test_a_run_ends_at_its_bound() -> None:
    journal = CountingJournal()
    lone = LoneBroker(journal)
    client = lone.client()
    client.send(1, QueueDeclare("q", durable=True))
    lone.sync()
    client.send_bytes(frames("q", b"ab", delivery_mode=2) * (3 * RUN_MESSAGES))
    assert max(journal.runs) == RUN_MESSAGES
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 3 * RUN_MESSAGES


class CountingJournal(RecordingJournal):
    """Knows how long each run was, and takes ``at_once`` of it at most."""

    def __init__(self, at_once: int = 1_000_000) -> None:
        super().__init__()
        self.at_once = at_once
        self.runs: list[int] = []

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        self.runs.append(len(contents))
        return super().publish_run(entry, contents[: self.at_once])


def header(mode: int) -> bytes:
    return encode_header(2, Properties(delivery_mode=mode))


def contents(count: int, mode: int = 2) -> list[Content]:
    return [Content(b"\0\x01q", header(mode), b"%02d" % number) for number in range(count)]


@pytest.mark.parametrize("at_once", [0, 1, 3, 100])
@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("room", [0, 2, 100])
def test_a_run_comes_to_the_same_as_its_messages(
    at_once: int, mode: int, durable: bool, room: int
) -> None:
    """Whatever the log takes at once, and wherever the window ends."""
    seen = []
    for as_run in (True, False):
        host = QueueHost(CountingJournal(at_once))
        host.window.size_bytes = room * (MESSAGE_OVERHEAD_BYTES + 2)
        queue = host.declare("q", durable=durable)
        facts = facts_of(header(mode))
        for _ in range(2):
            if as_run:
                enqueue_run(queue, contents(5, mode), facts)
            else:
                host.publish(
                    queue, *(bytes(each.body) for each in contents(5, mode)), header=header(mode)
                )
        journal = host.journal
        assert isinstance(journal, CountingJournal)
        entries = [
            queue.index.entry(number) for number in range(first_sequence(1), queue.index.tail)
        ]
        kept = {number: bytes(each.body) for number, each in queue.contents.items()}
        backlog = queue.backlog
        seen.append(
            (
                *(journal.records, entries, kept, queue.header_bytes, queue.published),
                *(backlog.absent, backlog.absent_bytes, queue.dirty or not as_run),
            )
        )
    assert seen[0] == seen[1]


def test_a_run_over_the_end_of_a_chunk() -> None:
    host = QueueHost()
    queue = host.declare("q")
    facts = facts_of(header(2))
    for _ in range(CHUNK_ENTRIES // 100 + 1):
        enqueue_run(queue, contents(100), facts)
    assert queue.ready == len(queue.contents) == queue.index.tail - first_sequence(1)
    assert queue.ready > CHUNK_ENTRIES
    assert [queue.index.take() for _ in range(queue.ready)][-1] == (queue.index.tail - 1, False)


@pytest.fixture
def nodes() -> ScriptedNodes:
    """A client that has published a message to another node, and takes confirms."""
    nodes = ScriptedNodes()
    nodes.client.select_confirms()
    nodes.client.publish("q", b"0")
    return nodes


def publish(nodes: ScriptedNodes, *bodies: bytes) -> None:
    nodes.client.send_bytes(b"".join(frames("q", body) for body in bodies))


def forwarded(nodes: ScriptedNodes) -> list[bytes]:
    return [bytes(it.content.body) for it in nodes.home.published]


def test_a_read_of_alike_messages_goes_to_another_node_together(nodes: ScriptedNodes) -> None:
    publish(nodes, b"1", b"2", b"3")
    assert forwarded(nodes) == [b"0", b"1", b"2", b"3"]
    assert nodes.home.runs == [2], "the first one of a read goes alone"
    assert nodes.queue.published == 4


def test_a_run_to_another_node_is_confirmed_when_that_says_so(nodes: ScriptedNodes) -> None:
    publish(nodes, b"1", b"2", b"3")
    nodes.take(partial(nodes.home.confirm, 3))
    assert nodes.hears() == [BasicAck(1)]
    nodes.take(nodes.home.confirm)
    assert nodes.hears() == [BasicAck(4, multiple=True)]


@pytest.mark.parametrize("refused", [2, 3, 4])
def test_a_message_of_a_run_that_another_node_refuses_is_nacked_alone(
    nodes: ScriptedNodes, refused: int
) -> None:
    publish(nodes, b"1", b"2", b"3")
    nodes.take(partial(nodes.home.refuse, refused))
    assert nodes.hears() == [BasicNack(refused)]
    nodes.take(nodes.home.confirm)
    assert nodes.hears() == [BasicAck(1), BasicAck(3 if refused == 4 else 4, multiple=True)]
    publish(nodes, b"4", b"5")
    nodes.take(partial(nodes.home.refuse, 6))
    assert nodes.hears() == [BasicNack(6)]


class NarrowHome(ScriptedHome):
    """A home that has no room from some message on."""

    def publish(
        self, queue_ids: Sequence[int], content: Content, refused: Callable[[], None] | None = None
    ) -> int:
        self.has_room = False
        return super().publish(queue_ids, content, refused)


def test_a_run_waits_while_too_much_is_on_its_way_to_the_other_node(nodes: ScriptedNodes) -> None:
    home = NarrowHome()
    nodes.lone.broker.vhosts["/"].enter_queue(QueueDefinition(8, "narrow", False, {}), home)
    nodes.client.send_bytes(frames("narrow", b"x") * 3)
    for count in (1, 2, 3, 3):
        assert len(home.published) == count
        nodes.take(home.make_room)
        nodes.lone.complete()
    assert home.runs == []


def test_messages_of_one_read_go_to_several_queues_of_another_node(nodes: ScriptedNodes) -> None:
    nodes.lone.broker.vhosts["/"].enter_queue(QueueDefinition(8, "p", False, {}), nodes.home)
    nodes.ask(QueueBind("q", "amq.fanout"), QueueBind("p", "amq.fanout"))
    method = BasicPublish("amq.fanout", "")
    nodes.client.send_bytes(content_frames(1, method, Properties(), b"x", FRAME_MAX) * 3)
    assert [it.queue_ids for it in nodes.home.published] == [(7,)] + [(7, 8)] * 3
    assert nodes.home.runs == []


def test_messages_to_another_node_are_traced_as_soon_as_that_is_asked_for(
    nodes: ScriptedNodes,
) -> None:
    vhost = nodes.lone.broker.vhosts["/"]
    nodes.ask(QueueDeclare("seen"), QueueBind("seen", TRACE_EXCHANGE, "#"))
    publish(nodes, b"1", b"2")
    vhost.describe(VHostInfo(tracing=True))
    publish(nodes, b"3", b"4", b"5")
    assert [bytes(it.body) for it in vhost.queues["seen"].contents.values()] == [b"3", b"4", b"5"]
    vhost.describe(VHostInfo())
    publish(nodes, b"6", b"7", b"8")
    assert vhost.queues["seen"].ready == 3
    assert forwarded(nodes) == [b"%d" % number for number in range(9)]
