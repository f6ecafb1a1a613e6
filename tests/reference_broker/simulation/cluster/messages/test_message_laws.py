"""message_laws: each law finds what breaks it, and passes what doesn't."""

from __future__ import annotations

import pytest

from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.homes import VHOST
from reference_broker.simulation.cluster.messages.message_laws import GIVING_BACK_US
from reference_broker.simulation.cluster.messages.message_model import SentMessage
from reference_broker.simulation.cluster.process import NodeProcess
from reference_broker.simulation.cluster.world import ClusterWorld

QUEUE, OTHER = "m-classic", "m-spread"
CONSUMER = 1


class Told:
    """Laws that are told what clients of one node see."""

    def __init__(self) -> None:
        self.world = ClusterWorld(0)
        self.laws = self.world.message_laws
        self.process = NodeProcess(self.world, "n0", Folder())
        self.world.processes["n0"] = self.process

    def declare(self) -> None:
        """The queue, with its home here."""
        broker = self.process.broker.broker
        broker.enter_vhost(VHOST, VHostInfo())
        definition = QueueDefinition(1, QUEUE, True, {}, False, False)
        broker.vhosts[VHOST].enter_queue(definition, None)

    def send(self, queue: str = QUEUE, publisher: int = 7) -> SentMessage:
        return self.laws.sent(self.process, publisher, "", (queue,), 3)

    def deliver(
        self, message: SentMessage, queue: str = QUEUE, *, redelivered: bool = False
    ) -> None:
        self.laws.delivered(self.process, queue, message.body, CONSUMER, redelivered=redelivered)


@pytest.fixture
def told() -> Told:
    return Told()


def test_what_was_not_published_does_not_come(told: Told) -> None:
    told.send()
    with pytest.raises(LawBroken, match="never published"):
        told.laws.delivered(told.process, QUEUE, b"2 ...", CONSUMER, redelivered=False)
    with pytest.raises(LawBroken, match="never published"):
        told.laws.delivered(told.process, QUEUE, b"1 ..", CONSUMER, redelivered=False)


def test_nor_from_another_queue(told: Told) -> None:
    message = told.send()
    with pytest.raises(LawBroken, match="not routed to it"):
        told.deliver(message, OTHER)


def test_one_delivery_is_fresh(told: Told) -> None:
    message = told.send()
    told.deliver(message)
    told.deliver(message, redelivered=True)
    with pytest.raises(LawBroken, match="not marked"):
        told.deliver(message)


def test_what_was_acked_for_sure_does_not_come_again(told: Told) -> None:
    told.declare()
    message = told.send()
    told.deliver(message)
    message.copies[QUEUE].is_settled = True
    told.deliver(message, redelivered=True)
    message.copies[QUEUE].is_surely_gone = True
    with pytest.raises(LawBroken, match="again after it was acked"):
        told.deliver(message, redelivered=True)


def test_but_for_what_was_under_way_to_a_node_that_stood(told: Told) -> None:
    """It has no link with the home of the queue, or not the one that the home has."""
    message = told.send()
    message.copies[QUEUE].is_surely_gone = True
    told.deliver(message)
    assert told.laws.counts["late deliveries of what was acked"] == 1


def test_deliveries_ascend_by_publisher(told: Told) -> None:
    told.world.clock.now_us = 1
    first, of_another, second = told.send(), told.send(publisher=8), told.send()
    told.deliver(second)
    told.deliver(of_another)
    with pytest.raises(LawBroken, match="after message 3"):
        told.deliver(first)


@pytest.mark.parametrize(("later_us", "is_held"), [(0, False), (GIVING_BACK_US + 1, True)])
def test_but_for_what_may_have_come_back(told: Told, later_us: int, is_held: bool) -> None:
    told.world.clock.now_us = 1
    before = told.send()
    told.laws.consumer_left(QUEUE)
    told.world.clock.now_us += later_us
    first, second = told.send(), told.send()
    told.deliver(second)
    told.deliver(before)
    if is_held:
        with pytest.raises(LawBroken, match="after message 3"):
            told.deliver(first)
    else:
        told.deliver(first)


@pytest.mark.parametrize(
    ("confirmed", "run", "is_settled", "is_broken"),
    [
        (True, 1, False, True),
        (True, 1, True, False),
        (True, 2, False, False),
        (False, 1, False, False),
        (None, 1, False, False),
    ],
)
def test_a_confirmed_message_is_settled(
    told: Told, confirmed: bool | None, run: int, is_settled: bool, is_broken: bool
) -> None:
    """Unless its home has died: it has the run 1 in the end."""
    message = told.send()
    copy = message.copies[QUEUE]
    copy.life = "n0", run
    copy.is_settled = is_settled
    message.confirmed = confirmed
    if is_broken:
        with pytest.raises(LawBroken, match="nobody has settled it"):
            told.laws.hold_durability()
    else:
        told.laws.hold_durability()
