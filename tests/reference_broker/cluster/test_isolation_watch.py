"""isolation_watch: it looks twice a second, at etcd's answers and at the links with members."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.isolation_watch import IsolationWatch
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.records import MemberRecord, encoded
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.testing.mesh_net import MeshNet

PATIENCE_S = 3.0


class Node:
    """The first node of a net; etcd answers it while ``answers``."""

    def __init__(self, *names: str, members: tuple[str, ...] = ()) -> None:
        self.net = MeshNet(*names).linked()
        self.mesh_node = self.net.nodes[names[0]]
        self.answers = True
        self.answered_at = 0.0
        self.told: list[str] = []
        found = Members(self.told.append)
        self.mesh_node.view.follow(MEMBERS, found)
        for number, name in enumerate(members or names, start=1):
            record = MemberRecord(number, f"d{number}", 1, "s", 0, "", "")
            list(self.mesh_node.view.take([Event(MEMBERS + name, encoded(record), 8)]))
        self.watch = IsolationWatch(
            self._answered_at,
            found,
            self.mesh_node.mesh,
            self.mesh_node.shell,
            self.net.clock.after,
            self,
            PATIENCE_S,
        )

    def _answered_at(self) -> float:
        if self.answers:
            self.answered_at = self.net.now()
        return self.answered_at

    def cut_off(self, reason: str) -> None:
        self.told.append("cut off")

    def reached(self) -> None:
        self.told.append("reached")

    def cut(self, *names: str) -> None:
        for name in names:
            self.net.lose(self.mesh_node.name, name)
            self.net.lose(name, self.mesh_node.name)

    def until_links_are_down(self) -> None:
        self.net.pass_time(3.0)
        assert not self.mesh_node.mesh.last_heard


def test_it_pauses_without_etcd_and_majority_and_goes_on_with_links() -> None:
    node = Node("a", "b", "c")
    node.watch.begin()
    node.net.pass_time(10)
    node.answers = False
    node.net.pass_time(60)
    assert (node.told, node.watch.is_paused) == ([], False), "its links are whole"
    node.cut("b", "c")
    node.until_links_are_down()
    assert node.told == []
    node.net.pass_time(PATIENCE_S)
    assert (node.told, node.watch.is_paused) == (["cut off"], True)
    node.net.lost.clear()
    node.net.pass_time(5)
    assert (node.told, node.watch.is_paused) == (["cut off", "reached"], False)


def test_it_goes_on_with_etcd() -> None:
    node = Node("a", "b", "c")
    node.watch.begin()
    node.cut("b", "c")
    node.net.pass_time(30)
    assert node.told == []
    node.answers = False
    node.net.pass_time(4 + PATIENCE_S)
    node.answers = True
    node.net.pass_time(0.5)
    assert node.told == ["cut off", "reached"]


def test_members_that_are_not_there_count_and_links_with_others_do_not() -> None:
    node = Node("a", "b", "c", members=("a", "b", "x", "y", "z"))
    node.answers = False
    node.watch.begin()
    node.net.pass_time(PATIENCE_S + 1)
    assert sorted(node.mesh_node.mesh.last_heard) == ["b", "c"]
    assert node.told == ["cut off"]


def test_one_of_a_single_member_is_its_own_majority() -> None:
    node = Node("a")
    node.answers = False
    node.watch.begin()
    node.net.pass_time(60)
    assert node.told == []


def test_it_looks_between_its_begin_and_its_end_alone() -> None:
    node = Node("a", "b")
    node.answers = False
    node.cut("b")
    node.until_links_are_down()
    node.watch.end()
    node.net.pass_time(30)
    assert not node.watch.is_paused
    node.watch.begin()
    node.net.pass_time(PATIENCE_S - 1)
    node.watch.end()
    node.watch.end()
    node.net.pass_time(30)
    assert (node.told, node.watch.is_paused) == ([], False)
