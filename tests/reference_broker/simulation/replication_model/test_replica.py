from __future__ import annotations

from collections import Counter

import pytest

from reference_broker.simulation.replication_model.key import Copy, KeyValue, Kind, Proposal
from reference_broker.simulation.replication_model.ledger import Ledger, Op, Violation
from reference_broker.simulation.replication_model.links import Ack, Append
from reference_broker.simulation.replication_model.replica import Replica, Standing, State
from reference_broker.simulation.replication_model.rules import BrokenRule

A, B, C = (Copy(node, 0) for node in range(3))
FIRST = KeyValue(1, 1, A, (A, B))


def replica(
    copy: Copy, broken: BrokenRule | None = None, *, candidates_ack: bool = True
) -> Replica:
    """One that has seen the key at its first revision, in which A leads."""
    made = Replica(copy.node, 2, Ledger(), Counter(), broken, candidates_ack=candidates_ack)
    if copy == A:
        made.stand(Standing(0, 1))
    made.learn(FIRST)
    return made


def ops(*numbers: int, epoch: int = 1) -> list[Op]:
    return [Op(epoch, number) for number in numbers]


def membership(*in_sync: Copy, compared: int = 1) -> Proposal:
    return Proposal(A.node, 0, Kind.MEMBERSHIP, compared, 1, A, in_sync)


def test_a_leader_commits_what_all_have_on_disk() -> None:
    leader = replica(A)
    assert leader.state is State.LEADING
    leader.log += ops(1)
    leader.acked(Ack(1, 2, B))
    assert leader.committed == 0
    assert leader.sync() is None
    assert leader.committed == 2
    leader.log += ops(2)
    leader.acked(Ack(1, 3, B))
    leader.acked(Ack(2, 3, B))
    assert leader.committed == 2


@pytest.mark.parametrize(
    ("proposed", "broken", "committed"),
    [
        ((A, B, C), None, 0),
        ((A, B, C), BrokenRule.GROW_WHEN_ANSWERED, 1),
        ((A,), None, 1),
    ],
    ids=["grows", "grows once it is known", "shrinks"],
)
def test_whom_it_has_proposed_to_take_in_counts_at_once(
    proposed: tuple[Copy, ...], broken: BrokenRule | None, committed: int
) -> None:
    leader = replica(A, broken)
    leader.propose(membership(*proposed))
    leader.sync()
    assert leader.committed == 0
    leader.acked(Ack(1, 1, B))
    assert leader.committed == committed
    leader.acked(Ack(1, 1, C))
    assert leader.committed == 1


def test_whom_it_has_proposed_to_take_out_counts_until_it_knows() -> None:
    leader = replica(A)
    leader.learn(KeyValue(2, 1, A, (A, B, C)))
    leader.propose(membership(A, B, compared=2))
    leader.sync()
    leader.acked(Ack(1, 1, B))
    assert leader.committed == 0
    leader.learn(KeyValue(3, 1, A, (A, B)))
    assert leader.committed == 1
    assert leader.pending == []


def test_a_proposal_that_can_not_win_any_more_is_forgotten() -> None:
    leader = replica(A)
    leader.propose(membership(A, B, C))
    leader.learn(KeyValue(2, 1, A, (A, B)))
    assert leader.pending == []


def test_a_follower_acks_after_its_sync() -> None:
    follower = replica(B)
    assert follower.append(A.node, Append(1, ops(0, 1), 1)) is None
    assert (follower.durable, follower.committed) == (0, 1)
    assert follower.sync() == (A.node, Ack(1, 2, B))
    assert follower.sync() is None


def test_it_cuts_where_the_logs_part_and_never_below_its_mark() -> None:
    follower = replica(B)
    follower.append(A.node, Append(1, ops(0, 1, 2), 1))
    follower.sync()
    theirs = [*ops(0, 1), *ops(0, epoch=2)]
    follower.append(C.node, Append(2, theirs, 1))
    assert (follower.log, follower.durable, follower.epoch) == (theirs, 2, 2)
    follower.append(C.node, Append(2, theirs[:2], 1))  # an older message
    assert follower.log == theirs
    with pytest.raises(Violation):
        follower.append(A.node, Append(3, ops(7), 1))


def test_it_hears_no_older_epoch() -> None:
    follower = replica(B)
    follower.learn(KeyValue(2, 2, C, (A, B)))
    follower.append(A.node, Append(1, ops(0), 0))
    assert follower.log == []


@pytest.mark.parametrize("candidates_ack", [True, False])
def test_a_candidate_may_go_on_acking_for_the_old_leader(candidates_ack: bool) -> None:
    candidate = replica(B, candidates_ack=candidates_ack)
    candidate.stand(Standing(1, 2))
    candidate.append(A.node, Append(1, ops(0), 0))
    assert (candidate.sync() is not None) is candidates_ack


def test_a_candidate_leads_once_it_sees_that_it_won() -> None:
    candidate = replica(B)
    candidate.stand(Standing(1, 2))
    candidate.learn(KeyValue(2, 2, B, (A, B)))
    assert (candidate.state, candidate.epoch) == (State.LEADING, 2)
    assert candidate.log == ops(0, epoch=2)


@pytest.mark.parametrize(
    ("broken", "state"),
    [(None, State.CANDIDATE), (BrokenRule.OLD_ELECTION, State.LEADING)],
    ids=["as designed", "broken"],
)
def test_an_election_before_a_leader_that_was_followed_is_none(
    broken: BrokenRule | None, state: State
) -> None:
    candidate = replica(B, broken)
    candidate.append(C.node, Append(3, [], 0))
    candidate.stand(Standing(1, 2))
    candidate.learn(KeyValue(2, 2, B, (A, B)))
    assert candidate.state is state


def test_a_power_loss_takes_what_is_not_durable_and_a_start_makes_a_follower() -> None:
    leader = replica(A)
    leader.sync()
    leader.log += ops(1)
    leader.stop(kept=1)
    assert (leader.up, leader.life, leader.log) == (False, 1, ops(0))
    leader.start(FIRST)
    assert (leader.state, leader.epoch, leader.up) == (State.FOLLOWING, 1, True)


@pytest.mark.parametrize(("keeps_number", "number"), [(False, 1), (True, 0)])
def test_an_empty_copy_has_another_number(keeps_number: bool, number: int) -> None:
    follower = replica(B)
    follower.append(A.node, Append(1, ops(0), 1))
    follower.start_from_nothing(keeps_number=keeps_number)
    assert (follower.log, follower.committed, follower.copy) == ([], 0, Copy(B.node, number))
    assert follower.sync() is None
