"""delivery_wait: a consumer with room is handed what is ready, within a time."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.queue import Queue
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.delivery_wait import DELIVERED_US, DeliveryWait
from reference_broker.simulation.cluster.messages.homes import VHOST
from reference_broker.simulation.cluster.process import NodeProcess
from reference_broker.simulation.cluster.world import ClusterWorld

QUEUE = "m-classic"
HEADER = encode_header(1, Properties(delivery_mode=2))


class Waiting:
    """A consumer of one node, at a queue of it."""

    def __init__(self) -> None:
        self.world = ClusterWorld(0)
        self.process = NodeProcess(self.world, "n0", Folder())
        self.world.processes["n0"] = self.process
        broker = self.process.broker.broker
        broker.enter_vhost(VHOST, VHostInfo())
        definition = QueueDefinition(1, QUEUE, True, {}, False, False)
        broker.vhosts[VHOST].enter_queue(definition, None)
        self.queue: Queue = broker.vhosts[VHOST].queues[QUEUE]
        self.wait = DeliveryWait(self.world)
        self.wait.begin()

    def publish(self) -> None:
        content = Content(b"\0\1q", HEADER, b"x")
        assert enqueue((self.queue,), content, facts_of(HEADER), self.queue.env)

    def look(self, after_us: int = 0) -> None:
        self.world.clock.now_us += after_us
        self.wait.hold(self.process, QUEUE)


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def test_what_is_ready_has_to_come(waiting: Waiting) -> None:
    waiting.publish()
    waiting.look()
    waiting.look(DELIVERED_US)
    with pytest.raises(LawBroken, match=r"1 messages were ready in m-classic at n0 for 25\.0 s"):
        waiting.look(1_000)


def test_an_empty_queue_owes_nothing(waiting: Waiting) -> None:
    waiting.look()
    waiting.look(DELIVERED_US + 1_000)
    waiting.publish()
    waiting.look(DELIVERED_US)
    waiting.look(DELIVERED_US)


def test_the_time_begins_with_each_message_that_comes(waiting: Waiting) -> None:
    waiting.publish()
    waiting.look()
    waiting.world.clock.now_us += DELIVERED_US
    waiting.wait.begin()
    waiting.look(DELIVERED_US)
    waiting.look(DELIVERED_US)


def test_a_consumer_that_is_gone_is_owed_nothing(waiting: Waiting) -> None:
    waiting.publish()
    waiting.look()
    waiting.wait.end()
    waiting.look(2 * DELIVERED_US)


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_node_has_that_time_while_it_goes_round(waiting: Waiting, is_paused: bool) -> None:
    waiting.publish()
    waiting.look()
    if is_paused:
        waiting.process.stand()
        waiting.look(DELIVERED_US)
        waiting.process.resume()
    else:
        waiting.look(DELIVERED_US)
    waiting.world.clock.now_us += 1_000
    if is_paused:
        waiting.look()
    else:
        with pytest.raises(LawBroken):
            waiting.look()


def test_another_queue_of_the_name_begins_anew(waiting: Waiting) -> None:
    waiting.publish()
    waiting.look()
    vhost = waiting.process.broker.broker.vhosts[VHOST]
    vhost.leave_queue(waiting.queue)
    vhost.enter_queue(QueueDefinition(2, QUEUE, True, {}, False, False), None)
    waiting.queue = vhost.queues[QUEUE]
    waiting.publish()
    waiting.look(DELIVERED_US + 1_000)
    waiting.look(DELIVERED_US)
