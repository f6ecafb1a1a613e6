"""The memory that a node holds for clients of other nodes: it is counted, and leaves when it is
short."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire.methods import QueueDelete
from reference_broker.cluster.link.lane import MESSAGE_OVERHEAD_BYTES
from reference_broker.cluster.queues.attached_consumer import CONSUMER_BYTES
from reference_broker.cluster.queues.linked_home import TAKER_BYTES
from reference_broker.cluster.queues.sent_publishes import UNTOLD_BYTES
from reference_broker.core.alarms import Alarm
from reference_broker.core.index.memory_window import LEASE_BYTES
from reference_broker.core.memory_watermark import COUNTS_PER_WATERMARK, WINDOWS_PER_WATERMARK
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.ports import Settlement
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms
from reference_broker.testing.recording_journal import RecordingJournal

WATERMARK = 4_000_000
CONSUMER = CONSUMER_BYTES + 2 * len("tag")
MANY = 1 << 40


def links(nodes: LinkedBrokers, name: str) -> int:
    """The account of a node for its links."""
    return nodes[name].lone.broker.memory.beside["links"]()


def publish(nodes: LinkedBrokers, queue: Queue, *bodies: bytes, mode: int = 1) -> None:
    """Publish from "a", and let nothing move."""
    home = nodes["a"].queue_links.home("b")
    for body in bodies:
        content = message(body, delivery_mode=mode)
        nodes.act("a", partial(home.publish, [queue.id], content))


def attach(nodes: LinkedBrokers, queue: Queue, *, no_ack: bool = False) -> tuple[NotingTaker, int]:
    """A consumer of "a", which is granted whatever comes."""
    taker = NotingTaker()
    home = nodes["a"].queue_links.home("b")
    number = nodes.act("a", partial(home.attach, queue.id, terms(no_ack=no_ack), taker))
    nodes.act("a", partial(home.grant, number, MANY, MANY))
    nodes.settle()
    return taker, number


def with_a_watermark(journal: RecordingJournal) -> tuple[LinkedBrokers, Queue]:
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    nodes.act("b", partial(nodes["b"].lone.broker.memory.change, WATERMARK, 0))
    return nodes, nodes.declare("b", "q", durable=True)


def test_what_another_node_publishes_leaves_memory_when_it_is_on_disk() -> None:
    nodes, queue = with_a_watermark(RecordingJournal())
    for _ in range(100):
        publish(nodes, queue, *[b"x" * 5_000] * 10, mode=2)
        nodes.settle()
    assert queue.ready_bytes == 5_000_000
    window = WATERMARK // WINDOWS_PER_WATERMARK
    assert queue.backlog.resident_bytes <= window + WATERMARK // COUNTS_PER_WATERMARK


def test_what_another_node_publishes_sounds_the_alarm() -> None:
    nodes, queue = with_a_watermark(RecordingJournal(has_pages=False))
    for _ in range(100):
        publish(nodes, queue, *[b"x" * 5_000] * 10)
        nodes.settle()
    assert nodes["b"].lone.broker.alarms.on == [Alarm.MEMORY]


@pytest.mark.parametrize("size", [10, 1_000, 100_000])
def test_publishes_on_their_way_are_counted(size: int) -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    assert (links(nodes, "a"), links(nodes, "b")) == (0, 0)
    publish(nodes, queue, *[b"x" * size] * 20)
    assert links(nodes, "a") >= 20 * (size + MESSAGE_OVERHEAD_BYTES)
    nodes.settle()
    assert (links(nodes, "a"), links(nodes, "b")) == (0, 0)


def test_publishes_beyond_what_the_lane_takes_are_counted() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    publish(nodes, queue, *[b"x" * 1_000_000] * 9)
    assert 9_000_000 <= links(nodes, "a") < 9_100_000
    nodes.cut("a", "b")
    nodes.settle()
    assert links(nodes, "a") == 0


def test_publishes_that_wait_for_their_answer_are_counted() -> None:
    nodes = LinkedBrokers("a", "b", journals={"b": RecordingJournal()})
    queue = nodes.declare("b", "q", durable=True)
    home = nodes["a"].queue_links.home("b")
    refused: list[None] = []
    for _ in range(5):
        content = message(delivery_mode=2)
        nodes.act("a", partial(home.publish, [queue.id], content, partial(refused.append, None)))
    nodes.settle()
    assert links(nodes, "a") == 5 * UNTOLD_BYTES
    nodes["b"].lone.sync()
    nodes.settle()
    assert links(nodes, "a") == 0


def test_deliveries_on_their_way_are_counted() -> None:
    nodes = LinkedBrokers("a", "b", rate=1_000)
    queue = nodes.declare("b", "q")
    taker, _ = attach(nodes, queue, no_ack=True)
    client = nodes["b"].lone.client()
    for _ in range(20):
        client.publish("q", b"x" * 10_000)
    assert 200_000 <= links(nodes, "b") - CONSUMER < 210_000
    nodes.settle()
    assert len(taker.bodies) == 20
    assert links(nodes, "b") == CONSUMER


def test_consumers_and_leases_of_another_node_are_counted() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    takers = [attach(nodes, queue) for _ in range(3)]
    assert links(nodes, "a") == 3 * TAKER_BYTES
    assert links(nodes, "b") == 3 * CONSUMER
    publish(nodes, queue, *[b"x"] * 9)
    nodes.settle()
    assert links(nodes, "b") == 3 * CONSUMER + 9 * LEASE_BYTES
    home = nodes["a"].queue_links.home("b")
    numbers = takers[0][0].numbers
    nodes.act("a", partial(home.end_leases, queue.id, Settlement.ACK, numbers))
    nodes.act("a", partial(home.detach, takers[0][1]))
    nodes.settle()
    assert links(nodes, "b") == 2 * CONSUMER + 6 * LEASE_BYTES
    assert links(nodes, "a") == 2 * TAKER_BYTES
    nodes.cut("a", "b")
    nodes.settle()
    assert (links(nodes, "a"), links(nodes, "b")) == (0, 0)


def test_those_of_a_queue_that_is_deleted_are_not() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    attach(nodes, queue)
    publish(nodes, queue, b"x")
    nodes.settle()
    nodes["b"].lone.client().send(1, QueueDelete("q"))
    nodes.settle()
    assert links(nodes, "b") == 0
