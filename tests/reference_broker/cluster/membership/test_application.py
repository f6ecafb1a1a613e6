"""application: it asks until the node has joined, is refused, or takes it back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.cluster.coordinator import Lost, Page, Row, Transaction, Unread, Won
from reference_broker.cluster.membership.application import Application
from reference_broker.cluster.membership.joining import Applicant, FolderMark, Joined
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

EMPTY = Page((), 5, False)


class Node:
    """A node that applies to be the first one of a cluster."""

    def __init__(self) -> None:
        self.etcd, self.clock = ScriptedCoordinator(), HandClock()
        self.told: list[object] = []
        self.marked: Callable[[], None] | None = None
        applicant = Applicant(
            cluster="prod",
            node="a",
            secret_fingerprint="f00",
            run=4,
            start_id="s1",
            position=0,
            amqp="",
            http="",
            mark=None,
            new_id="c1",
            new_disk_id="d1",
            wall_ms=0,
        )
        self.application = Application(self.etcd, applicant, self.clock.after, self)
        self.application.begin()

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        self.told.append(mark)
        self.marked = marked

    def joined(self, joined: Joined) -> None:
        self.told.append(joined.member.number)

    def refused(self, reason: str) -> None:
        self.told.append(reason)

    def waits(self, reason: str) -> None:
        self.told.append(f"waits: {reason}")

    def found(self) -> Transaction:
        self.etcd.answer_read(EMPTY)
        return self.etcd.answer(Won(6))


def test_it_goes_through_all_steps() -> None:
    node = Node()
    assert [change.key for change in node.found().changes] == ["/mqkit/prod/cluster"]
    node.etcd.answer_read(EMPTY)  # no member of that name
    assert not node.etcd.reads
    assert node.marked is not None
    node.marked()
    node.etcd.answer_read(EMPTY)  # no ids were given
    node.etcd.answer_read(EMPTY)  # no node had a number
    node.etcd.answer(Won(7))
    assert node.told == [FolderMark("c1", "a", "d1"), 1]


@pytest.mark.parametrize("unread", [True, False])
def test_what_fails_is_told_and_begun_again_later(unread: bool) -> None:
    node = Node()
    if unread:
        node.etcd.answer_read(Unread("no leader"))
    else:
        node.etcd.answer_read(EMPTY)
        node.etcd.answer(Lost(6))
    assert node.told == ["waits: " + ("no leader" if unread else "another node was quicker")]
    assert not node.etcd.reads
    node.clock.forward(0.1)
    assert node.etcd.reads[0].prefix == "/mqkit/prod/cluster"


def test_a_refusal_ends_it() -> None:
    node = Node()
    row = Row("/mqkit/prod/cluster", b"{", 3)
    node.etcd.answer_read(Page((row,), 5, False))
    node.clock.forward(10)
    assert len(node.told) == 1
    assert "can't be read" in str(node.told[0])
    assert not node.etcd.reads


@pytest.mark.parametrize("paused", [True, False])
def test_one_that_is_taken_back_asks_nothing_more(paused: bool) -> None:
    node = Node()
    if paused:
        node.etcd.answer_read(Unread("no leader"))
    node.application.take_back()
    node.application.take_back()
    if not paused:
        node.etcd.answer_read(EMPTY)
    node.clock.forward(10)
    assert not node.etcd.asked
    assert not node.etcd.reads
