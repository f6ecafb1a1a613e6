"""proposals: one transaction at a time, and an answer that is true whatever becomes of it."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import (
    Compare,
    Event,
    InDoubt,
    Lost,
    Outcome,
    Put,
    Refused,
    Transaction,
    Won,
)
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.cluster.metadata.proposals import (
    PATIENCE_S,
    WAITING_MAX,
    Proposals,
    ProposalsState,
)
from reference_broker.cluster.metadata.view import View
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

P = "/mqkit/c/"
OWN = "proposals/a"


class Node:
    """The proposals of node a in its run 4, which has claimed its key at revision 10."""

    def __init__(self, *, is_claimed: bool = True) -> None:
        self.etcd, self.view, self.clock = ScriptedCoordinator(), View(), HandClock()
        self.answers: list[tuple[str, Answered]] = []
        self.replaced = 0
        self.gone_back: list[tuple[int, int]] = []
        self.proposals = Proposals(
            self.etcd,
            P,
            self.view,
            self.clock.after,
            "a",
            4,
            self._replaced,
            lambda seen, found: self.gone_back.append((seen, found)),
        )
        if is_claimed:
            self.view.reach(9)
            self.proposals.begin()
            self.win(10)

    def _replaced(self) -> None:
        self.replaced += 1

    def propose(self, key: str, revision: int = 0) -> None:
        self.proposals.propose(
            (Compare(key, revision),),
            (Put(key, b"v"),),
            lambda answered: self.answers.append((key, answered)),
        )

    def win(self, revision: int) -> Transaction:
        """etcd carries the oldest transaction out; its watch comes before its answer."""
        transaction = self.etcd.asked[0].transaction
        self.see(revision, transaction)
        return self.etcd.answer(Won(revision))

    def see(self, revision: int, transaction: Transaction) -> None:
        for change in transaction.changes:
            assert isinstance(change, Put)
            list(self.view.take([Event(change.key.removeprefix(P), change.value, revision)]))
        self.view.reach(revision)

    def see_another(self, revision: int, key: str, value: bytes | None = b"another's") -> None:
        list(self.view.take([Event(key, value, revision)]))
        self.view.reach(revision)


def _keys(transaction: Transaction) -> list[str]:
    return [change.key.removeprefix(P) for change in transaction.changes]


def test_the_first_transaction_claims_the_nodes_own_key() -> None:
    node = Node(is_claimed=False)
    node.propose("k")
    assert not node.etcd.asked
    node.see_another(7, OWN, b"3 812")
    node.proposals.begin()
    asked = node.etcd.asked[0].transaction
    assert asked.compares[0] == Compare(P + OWN, 7)
    assert asked.changes[0] == Put(P + OWN, b"4 1")
    assert _keys(asked) == [OWN, "k"]


def test_a_proposal_is_one_transaction_and_those_that_come_meanwhile_another() -> None:
    node = Node()
    for key in "abc":
        node.propose(key)
    first = node.win(11)
    second = node.win(12)
    assert (_keys(first), _keys(second)) == ([OWN, "a"], [OWN, "b", "c"])
    assert first.compares == (Compare(P + OWN, 10), Compare(P + "a", 0))
    assert second.compares[0] == Compare(P + OWN, 11)
    assert node.answers == [("a", Won(11)), ("b", Won(12)), ("c", Won(12))]
    assert not node.etcd.asked
    assert len(node.proposals) == 0


def test_who_has_lost_is_told_when_the_view_knows_why_and_the_others_go_on() -> None:
    node = Node()
    node.propose("first")
    for key in "abc":
        node.propose(key)
    node.win(11)
    node.etcd.answer(Lost(13))
    node.view.reach(12)
    assert node.proposals.state is ProposalsState.LOOKING
    node.see_another(13, "b")
    assert node.answers[1:] == [("b", Lost(13))]
    assert _keys(node.win(14)) == [OWN, "a", "c"]
    assert node.answers[2:] == [("a", Won(14)), ("c", Won(14))]


def test_refused_it_is_asked_again_with_what_has_come_since() -> None:
    node = Node()
    node.propose("a")
    node.etcd.answer(Refused("nobody listens"))
    node.propose("b")
    assert not node.etcd.asked
    node.clock.forward(0.1)
    assert _keys(node.win(11)) == [OWN, "a", "b"]


def test_in_doubt_the_very_same_is_asked_again() -> None:
    node = Node()
    node.propose("a")
    before = node.etcd.answer(InDoubt("no answer in time"))
    node.propose("b")
    node.clock.forward(0.1)
    assert node.etcd.asked[0].transaction == before
    node.win(11)
    assert node.answers == [("a", Won(11))]


def test_one_that_was_carried_out_by_the_lost_request_has_won() -> None:
    node = Node()
    node.propose("a")
    carried_out = node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    node.etcd.answer(Lost(12))
    assert node.answers == []
    node.see(11, carried_out)
    node.view.reach(12)
    assert node.answers == [("a", Won(11))]
    node.propose("b")
    assert node.etcd.asked[0].transaction.compares[0] == Compare(P + OWN, 11)


def test_nobody_is_told_that_he_lost_while_it_may_be_carried_out_yet() -> None:
    node = Node()
    node.propose("a")
    node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    node.etcd.answer(Lost(12))
    node.see_another(12, "a")
    assert node.answers == []
    assert _keys(node.etcd.asked[0].transaction) == [OWN]  # it stands down
    node.win(13)
    assert node.answers == [("a", Lost(13))]


def test_the_late_request_may_come_before_the_node_has_stood_down() -> None:
    node = Node()
    node.propose("a")
    late = node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    node.etcd.answer(Lost(12))
    node.see_another(12, "a")
    node.etcd.answer(Lost(14))
    node.see_another(13, "a", None)
    node.see(14, late)
    assert node.answers == [("a", Won(14))]


def test_who_stands_down_may_be_in_doubt_too() -> None:
    node = Node()
    node.propose("a")
    node.propose("b")
    node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    node.etcd.answer(Lost(12))
    node.see_another(12, "a")
    stood_down = node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    assert node.etcd.answer(Lost(13)) == stood_down
    node.see(13, stood_down)
    assert node.answers == [("a", Lost(13))]
    assert _keys(node.win(14)) == [OWN, "b"]


def test_patience_ends() -> None:
    node = Node()
    node.propose("refused")
    for _ in range(20):
        if node.etcd.asked:
            node.etcd.answer(Refused("nobody listens"))
        node.clock.forward(2)
    assert node.answers == [("refused", Refused("etcd can't be asked: nobody listens"))]
    node.clock.forward(2)
    assert not node.etcd.asked or _keys(node.etcd.asked[0].transaction) == [OWN]
    assert len(node.proposals) == 0


def test_who_gave_up_in_doubt_is_told_so_and_the_node_goes_on_to_find_out() -> None:
    node = Node()
    node.propose("doubtful")
    node.propose("later")
    for _ in range(10):
        node.etcd.answer(InDoubt("no answer in time"))
        node.clock.forward(2)
    node.clock.forward(PATIENCE_S)
    assert [(key, type(answered)) for key, answered in node.answers] == [
        ("doubtful", InDoubt),
        ("later", Refused),
    ]
    node.propose("next")
    assert _keys(node.win(11)) == [OWN, "doubtful"]
    assert _keys(node.win(12)) == [OWN, "next"]
    assert node.proposals.outcomes == {InDoubt: 1, Refused: 1, Won: 1}, "each has one answer"


def test_an_earlier_runs_last_transaction_may_come_in_between() -> None:
    node = Node(is_claimed=False)
    node.see_another(7, OWN, b"3 812")
    node.proposals.begin()
    node.propose("k")
    node.etcd.answer(Lost(8))
    node.see_another(8, OWN, b"3 813")
    asked = node.etcd.asked[0].transaction
    assert asked.compares[0] == Compare(P + OWN, 8)
    assert _keys(asked) == [OWN, "k"]


def test_a_later_run_ends_this_one() -> None:
    node = Node()
    node.propose("a")
    node.propose("b")
    node.see_another(11, OWN, b"5 1")
    assert node.replaced == 1
    assert [type(answered) for _, answered in node.answers] == [InDoubt, InDoubt]
    node.etcd.answer(Lost(11))
    node.propose("c")
    assert len(node.answers) == 2
    node.clock.forward(0)
    assert type(node.answers[2][1]) is Refused
    assert not node.etcd.asked


def test_too_many_are_refused() -> None:
    node = Node()
    node.propose("asked")
    for number in range(WAITING_MAX):
        node.propose(f"k{number}")
    node.propose("one too many")
    node.clock.forward(0)
    assert [key for key, _ in node.answers] == ["one too many"]
    assert "waiting for etcd" in str(node.answers[0][1])


def test_what_etcd_takes_from_nobody_is_found_and_the_others_go_on() -> None:
    node = Node()
    node.propose("first")
    for key in "abc":
        node.propose(key)
    node.win(11)
    lasting = Refused("requested lease not found", lasting=True)
    node.etcd.answer(lasting)
    assert _keys(node.win(12)) == [OWN, "a"]
    assert _keys(node.etcd.answer(lasting)) == [OWN, "b"]
    assert _keys(node.win(13)) == [OWN, "c"]
    assert node.answers[1:] == [("a", Won(12)), ("b", lasting), ("c", Won(13))]
    for key in "de":
        node.propose(key)
    node.win(14)
    for key in "fg":
        node.propose(key)
    node.win(15)
    assert _keys(node.win(16)) == [OWN, "f", "g"]


def test_what_is_taken_from_nobody_any_more_may_have_been_taken_before() -> None:
    node = Node()
    node.propose("a")
    node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    lasting = Refused("requested lease not found", lasting=True)
    node.etcd.answer(lasting)
    assert node.answers == []
    assert _keys(node.win(11)) == [OWN]  # it stands down
    assert _keys(node.etcd.answer(lasting)) == [OWN, "a"]
    assert node.answers == [("a", lasting)]


def test_a_view_that_hears_nothing_of_what_others_write_is_helped() -> None:
    node = Node()
    node.propose("a")
    node.propose("b")
    node.see_another(11, "a")
    node.etcd.answer(Lost(50))  # somebody else has the same etcd
    assert not node.etcd.asked
    node.clock.forward(0.5)
    assert _keys(node.win(51)) == [OWN]
    assert node.answers == [("a", Lost(51))]
    assert _keys(node.win(52)) == [OWN, "b"]


def test_who_has_stood_down_waits_until_the_view_knows() -> None:
    node = Node()
    node.propose("a")
    node.etcd.answer(InDoubt("no answer in time"))
    node.clock.forward(0.1)
    node.etcd.answer(Lost(12))
    node.see_another(12, "a")
    stood_down = node.etcd.answer(Won(14))
    assert node.answers == []
    node.see_another(13, "a", None)
    node.see(14, stood_down)
    assert _keys(node.win(15)) == [OWN, "a"]  # it holds again
    assert node.answers == [("a", Won(15))]


@pytest.mark.parametrize("outcome", [Won(8), Lost(8)])
def test_an_etcd_that_lacks_what_was_seen_is_asked_nothing_more(outcome: Outcome) -> None:
    node = Node()
    node.propose("def/a")
    node.see_another(12, "def/b")
    node.etcd.answer(outcome)
    assert node.gone_back == [(10, 8)]
    assert [(key, type(answered)) for key, answered in node.answers] == [("def/a", InDoubt)]
    node.propose("def/c")
    node.clock.forward(60)
    assert not node.etcd.asked


def test_proposals_and_their_outcomes_are_counted() -> None:
    node = Node()
    for key in "abcd":
        node.propose(key)
    node.win(11)
    node.etcd.answer(Lost(13))
    node.see_another(13, "b")
    node.win(14)
    node.propose("e")
    assert (node.proposals.proposed, node.proposals.outcomes) == (5, {Won: 3, Lost: 1})
    node.proposals.end("over")
    node.propose("f")
    node.clock.forward(0)
    assert node.proposals.proposed == 6
    assert node.proposals.outcomes == {Won: 3, Lost: 1, InDoubt: 1, Refused: 1}
    node.clock.forward(PATIENCE_S)
    assert len(node.answers) == sum(node.proposals.outcomes.values()) == 6
