"""linked_brokers: nodes with links in memory, which can be cut and come back."""

from __future__ import annotations

from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import message


def _ups(nodes: LinkedBrokers) -> list[bool]:
    return [
        nodes[one].queue_links.home(other).is_up
        for one in nodes.nodes
        for other in nodes.nodes
        if one != other
    ]


def test_every_two_nodes_have_a_link_until_it_is_cut() -> None:
    nodes = LinkedBrokers("a", "b", "c")
    assert _ups(nodes) == [True] * 6
    nodes.cut("a", "c")
    assert _ups(nodes) == [True, False, True, True, False, True]
    nodes.join("a", "c")
    nodes.settle()
    assert _ups(nodes) == [True] * 6


def test_nothing_moves_by_itself_and_a_turn_carries_so_much() -> None:
    nodes = LinkedBrokers("a", "b", rate=1_000)
    queue = nodes.declare("b", "q", x_max_length=9)
    assert queue.limits.max_length == 9
    home = nodes["a"].queue_links.home("b")
    for _ in range(5):
        nodes.act("a", lambda: home.publish([queue.id], message(b"x" * 1_000)))
    assert queue.ready == 0
    for _ in range(4):
        nodes.turn()
    assert queue.ready < 5
    nodes.settle()
    assert queue.ready == 5


def test_what_is_under_way_when_a_cable_is_cut_is_lost() -> None:
    nodes = LinkedBrokers("a", "b", rate=100)
    queue = nodes.declare("b", "q")
    home = nodes["a"].queue_links.home("b")
    nodes.act("a", lambda: home.publish([queue.id], message(b"x" * 1_000)))
    nodes.turn()
    nodes.cut("a", "b")
    nodes.join("a", "b")
    nodes.settle()
    assert queue.ready == 0
