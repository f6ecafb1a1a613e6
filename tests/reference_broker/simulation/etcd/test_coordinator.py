from __future__ import annotations

from random import Random

import pytest

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    TRANSACTION_BYTES_MAX,
    Changed,
    Compare,
    Coordinator,
    Delete,
    InDoubt,
    Lost,
    News,
    Outcome,
    Page,
    Progressed,
    Put,
    Refused,
    Transaction,
    Unread,
    WatchEnded,
    Won,
)
from reference_broker.simulation.etcd.coordinator import SimulatedCoordinator
from reference_broker.simulation.etcd.line import Cut
from reference_broker.simulation.etcd.profile import CALM
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.events.clock import SimulatedClock

SECOND_US = 1_000_000
PUT = Transaction((), (Put("k", b"1"),))


class Node:
    """A node, and what it was told."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.server = EtcdServer(self.clock, Random(5), CALM)
        self.coordinator = SimulatedCoordinator(self.server, "a", page_rows=2)
        self.outcomes: list[Outcome] = []
        self.pages: list[Page | Unread] = []
        self.news: list[News] = []

    def propose(self, transaction: Transaction) -> None:
        port: Coordinator = self.coordinator
        port.propose(transaction, self.outcomes.append)

    def run(self, seconds: float = 4) -> None:
        self.clock.run(self.clock.now_us + int(seconds * SECOND_US))


@pytest.fixture
def node() -> Node:
    return Node()


def test_proposals_are_won_lost_and_refused(node: Node) -> None:
    lost = Transaction((Compare("k", 9),), (Delete("k"),))
    for transaction in (PUT, lost, Transaction((), (Put("k", b"", 99),))):
        node.propose(transaction)
        node.run()
    assert node.outcomes == [Won(2), Lost(2), Refused("etcdserver: requested lease not found")]


@pytest.mark.parametrize(
    "transaction",
    [
        Transaction(tuple(Compare(f"{n}", 0) for n in range(CHANGES_MAX + 1)), ()),
        Transaction((), tuple(Delete(f"{n}") for n in range(CHANGES_MAX + 1))),
        Transaction((), (Delete("k"), Delete("k"))),
        Transaction((), (Put("k", bytes(TRANSACTION_BYTES_MAX)),)),
    ],
    ids=["compares", "changes", "a key twice", "octets"],
)
def test_one_that_breaks_the_bounds_of_the_port_is_a_bug(
    node: Node, transaction: Transaction
) -> None:
    with pytest.raises(ValueError, match=r"too many|in two"):
        node.propose(transaction)


def test_pages_follow_one_another_at_one_revision(node: Node) -> None:
    node.propose(Transaction((), tuple(Put(f"k{n}", b"") for n in range(3))))
    node.run()
    node.coordinator.read("k", node.pages.append)
    node.run()
    node.propose(PUT)
    node.run()
    node.coordinator.read("k", node.pages.append, after="k1", revision=2)
    node.coordinator.read("zz", node.pages.append)
    node.run()
    first, second, empty = sorted(node.pages, key=lambda page: -len(getattr(page, "rows", ())))
    assert isinstance(first, Page)
    assert isinstance(second, Page)
    assert [row.key for row in (*first.rows, *second.rows)] == ["k0", "k1", "k2"]
    assert (first.more, second.more) == (True, False)
    assert first.revision == second.revision == 2
    assert empty == Page((), 3, more=False)


def test_a_node_that_is_cut_off_silently_is_in_doubt_or_refused(node: Node) -> None:
    node.coordinator.watch("", 1, node.news.append)
    node.run()
    node.coordinator.cut(Cut.SILENT)
    for _ in range(20):
        node.propose(PUT)
    node.coordinator.read("", node.pages.append)
    node.run(5)
    assert {type(outcome) for outcome in node.outcomes} == {InDoubt, Refused}
    assert [type(page) for page in node.pages] == [Unread]
    node.coordinator.watch("", 1, node.news.append)
    node.run(15)
    assert [type(news) for news in node.news] == [WatchEnded, WatchEnded]


def test_a_short_cut_ends_no_watch(node: Node) -> None:
    node.coordinator.watch("", 1, node.news.append)
    node.run()
    node.coordinator.cut(Cut.SILENT)
    node.server.transact(PUT)
    node.run()
    assert not node.news
    node.coordinator.heal()
    node.run(1)
    assert {type(news) for news in node.news} == {Changed, Progressed}


def test_a_reset_ends_every_watch(node: Node) -> None:
    node.coordinator.watch("", 1, node.news.append)
    node.run()
    node.coordinator.cut(Cut.REFUSING)
    assert node.news == [WatchEnded("connection was reset")]


def test_a_paused_node_is_told_when_it_wakes(node: Node) -> None:
    node.propose(PUT)
    node.coordinator.pause()
    node.run(30)
    assert not node.outcomes
    node.coordinator.resume()
    node.run(0.001)
    assert node.outcomes == [Won(2)]


def test_a_node_that_is_gone_is_told_nothing_but_was_heard(node: Node) -> None:
    node.coordinator.watch("", 1, node.news.append)
    node.run()
    node.propose(PUT)
    node.coordinator.close()
    node.coordinator.close()
    node.run(60)
    assert node.coordinator.closed
    assert node.server.store.revision == 2
    assert not node.outcomes
    assert not node.news
