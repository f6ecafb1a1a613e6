"""queue_links: each other node is one home, over all its links, and both ends play both parts."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.mesh import LaneUser
from reference_broker.cluster.queues.kinds import PublishKind
from reference_broker.core.remote.ports import Homes, Settlement
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms


def test_a_home_is_the_same_object_whether_the_node_is_there_or_not() -> None:
    nodes = LinkedBrokers("a", "b")
    homes: Homes = nodes["a"].queue_links
    lanes: LaneUser = nodes["a"].queue_links
    assert repr(lanes) == repr(homes)
    home = homes.home("b")
    assert homes.home("b") is home
    assert not homes.home("nobody").is_up
    nodes.cut("a", "b")
    assert not home.is_up
    nodes.join("a", "b")
    nodes.settle()
    assert homes.home("b") is home
    assert home.is_up


def test_both_ends_play_both_parts_over_one_link() -> None:
    nodes = LinkedBrokers("a", "b", rate=10_000)
    takers = {}
    for here, there in (("a", "b"), ("b", "a")):
        queue = nodes.declare(there, f"at {there}")
        home = nodes[here].queue_links.home(there)
        takers[here] = NotingTaker()
        number = nodes.act(here, lambda: home.attach(queue.id, terms(), takers[here]))  # noqa: B023
        nodes.act(here, lambda: home.grant(number, 10_000, 1 << 40))  # noqa: B023
        for place in range(200):
            content = message(b"%d" % place + b"x" * 3_000)
            nodes.act(here, lambda: home.publish([queue.id], content))  # noqa: B023
    nodes.settle()
    for here, there in (("a", "b"), ("b", "a")):
        assert nodes[here].queue_links.home(there).confirmed.value == 200
        bodies = [body.rstrip(b"x") for body in takers[here].bodies]
        assert bodies == [b"%d" % place for place in range(200)]


@pytest.mark.parametrize(
    ("lane", "kind"),
    [
        (Lane.REPLICATION, 0),
        (Lane.PUBLISH, 1),
        (Lane.PUBLISH, PublishKind.CONFIRMED),
        (Lane.PUBLISH, PublishKind.REFUSED),
    ],
)
def test_what_nobody_knows_ends_the_link(lane: Lane, kind: int) -> None:
    nodes = LinkedBrokers("a", "b")
    end = nodes.cables[frozenset("ab")].ends[0]
    nodes.act("a", lambda: end.link.send(lane, kind, (b"12345678",)))
    nodes.settle()
    assert end.link.reason
    assert not nodes["b"].queue_links.home("a").is_up


def test_half_of_it_unconfirmed_when_the_link_is_lost() -> None:
    nodes = LinkedBrokers("a", "b", rate=8_192, units=300)
    queue = nodes.declare("b", "q")
    home = nodes["a"].queue_links.home("b")
    refused: list[int] = []

    def publish() -> None:
        number = home.publishes.last + 1
        home.publish([queue.id], message(b"%d" % number), lambda: refused.append(number))

    for _ in range(2_000):
        nodes.act("a", publish)
    while home.confirmed.value < 1_000:
        nodes.turn()
    nodes.cut("a", "b")
    assert home.confirmed.value < 2_000
    nodes.settle()
    first = refused[0]
    assert refused == list(range(first, 2_001))
    assert home.confirmed.value == 2_000
    assert queue.ready >= first - 1 >= 1_000


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_nor_comes_twice_but_what_was_refused(seed: int) -> None:
    """Publish, consume and end in all ways, over links that are cut again and again."""
    dice = Random(seed)
    nodes = LinkedBrokers("a", "b", rate=4_096, units=100)
    queue = nodes.declare("b", "q")
    home = nodes["a"].queue_links.home("b")
    refused: set[int] = set()
    acked: list[bytes] = []
    last = 0
    taker, seen = NotingTaker(), 0

    def publish() -> None:
        nonlocal last
        number = last + 1
        last = nodes.act(
            "a",
            lambda: home.publish([queue.id], message(b"%d" % number), lambda: refused.add(number)),
        )

    def consume() -> None:
        nonlocal taker, seen
        if home.is_up and (not taker.told or taker.told[-1] == "gone"):
            taker, seen = NotingTaker(), 0
            attachment = nodes.act("a", lambda: home.attach(queue.id, terms(), taker))
            nodes.act("a", lambda: home.grant(attachment, 1 << 30, 1 << 40))

    def end() -> None:
        nonlocal seen
        if not home.is_up or "gone" in taker.told:
            return
        some = taker.numbers[seen : seen + 7]
        bodies = taker.bodies[seen : seen + 7]
        seen += len(some)
        how = dice.choice([Settlement.ACK, Settlement.REQUEUE, Settlement.UNSEEN])
        if some:
            nodes.act("a", lambda: home.end_leases(queue.id, how, some))
        if how is Settlement.ACK:
            acked.extend(bodies)

    for _ in range(1_500):
        dice.choice([publish, publish, publish, consume, end, nodes.turn, nodes.turn])()
        if not dice.randrange(120):
            nodes.join("a", "b")
    nodes.settle()
    assert home.confirmed.value == last
    nodes.cut("a", "b")
    nodes.settle()
    left = {bytes(content.body) for content in queue.contents.values()}
    assert len(left) == queue.ready, "each once"
    assert (queue.unacked, len(queue.consumers)) == (0, 0)
    there = left | set(acked)
    confirmed = {b"%d" % number for number in range(1, last + 1) if number not in refused}
    assert confirmed <= there
    assert len(confirmed) > 200
    assert there <= {b"%d" % number for number in range(1, last + 1)}


def test_deliveries_are_counted_at_both_ends_over_all_links() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    home = nodes["a"].queue_links.home("b")
    links = {end.node.name: end.link for end in nodes.cables[frozenset("ab")].ends}
    for again in range(2):
        number = nodes.act("a", lambda: home.attach(queue.id, terms(no_ack=True), NotingTaker()))
        nodes.act("a", lambda: home.grant(number, 10_000, 1 << 40))  # noqa: B023
        for body in (b"alone", b"one", b"two", b"three"):
            nodes.act("a", lambda: home.publish([queue.id], message(body)))  # noqa: B023
            if body == b"alone":
                nodes.settle()
        nodes.settle()
        delivered = nodes["b"].queue_links.delivered_over("a", links["b"])
        assert home.deliveries == delivered == 4 * (again + 1)
        assert nodes["b"].queue_links.delivered_over("nobody", None) == 0
        nodes.cut("a", "b")
        nodes.settle()
        assert nodes["b"].queue_links.delivered_over("a", None) == delivered
        nodes.join("a", "b")
        nodes.settle()
        links = {end.node.name: end.link for end in nodes.cables[frozenset("ab")].ends}
