from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.replication_model.key import (
    Copy,
    Key,
    KeyValue,
    Kind,
    Proposal,
)

A, B, C = (Copy(node, 0) for node in range(3))


@pytest.fixture
def key() -> Key:
    return Key(KeyValue(1, 1, A, (A, B)), Random(1))


def proposal(kind: Kind, compared: int, epoch: int, *in_sync: Copy) -> Proposal:
    return Proposal(B.node, 0, kind, compared, epoch, B, in_sync)


def test_only_the_first_of_two_with_one_compare_wins(key: Key) -> None:
    key.proposals += [proposal(Kind.ELECTION, 1, 2, A, B)] * 2
    for won in (True, False):
        assert key.carry_out_one() is None
        answer = key.take_answer()
        assert answer is not None
        assert (answer.won, answer.value) == (won, KeyValue(2, 2, B, (A, B)))
    assert key.election_won(2, B) == key.next_after(1) == key.value
    assert key.election_won(2, A) is None
    assert key.next_after(2) is None


def test_an_election_without_compare_takes_a_later_epoch(key: Key) -> None:
    key.proposals += [proposal(Kind.ELECTION, 1, 2, A, B)] * 2
    for _ in range(2):
        key.carry_out_one(compares=False)
    assert [value.epoch for value in key.history] == [1, 2, 3]


def test_standing_down_changes_nothing_but_the_revision(key: Key) -> None:
    key.proposals.append(proposal(Kind.STANDING_DOWN, 1, 2))
    key.carry_out_one()
    assert key.value == KeyValue(2, 1, A, (A, B))


def test_it_says_whom_a_leader_took_in_and_may_lose_the_answer(key: Key) -> None:
    key.proposals.append(proposal(Kind.MEMBERSHIP, 1, 1, A, B, C))
    assert key.carry_out_one() == C
    key.lose_last_answer()
    assert key.take_answer() is None
    assert key.carry_out_one() is None
