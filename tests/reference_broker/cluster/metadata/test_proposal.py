"""proposal: one answer each; and a batch in which nobody is in another's way."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Compare, Delete, Lost, Put, Won
from reference_broker.cluster.metadata.proposal import (
    PROPOSAL_BYTES_MAX,
    PROPOSAL_CHANGES_MAX,
    Answered,
    Batch,
    Proposal,
)


def _proposal(*keys: str, compares: tuple[Compare, ...] = (), value: bytes = b"v") -> Proposal:
    return Proposal(compares, [Put(key, value) for key in keys], lambda answered: None)


def test_it_is_answered_once() -> None:
    answers: list[Answered] = []
    proposal = Proposal((), (Delete("k"),), answers.append)
    assert proposal.is_open
    proposal.end(Won(3))
    proposal.end(Lost(4))
    assert answers == [Won(3)]
    assert not proposal.is_open


def test_too_many_changes_are_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        _proposal(*(f"k{number}" for number in range(PROPOSAL_CHANGES_MAX + 1)))


def test_a_batch_has_equal_compares_once() -> None:
    batch = Batch()
    vhost = Compare("def/vhost/%2F", 3)
    assert batch.take(_proposal("a", compares=(vhost, Compare("a", 0))))
    assert batch.take(_proposal("b", compares=(vhost, Compare("b", 0))))
    assert batch.compares == (vhost, Compare("a", 0), Compare("b", 0))
    assert [change.key for change in batch.changes] == ["a", "b"]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(_proposal("a"), id="changes the same key"),
        pytest.param(_proposal("x", compares=(Compare("a", 0),)), id="compares what is changed"),
        pytest.param(_proposal("c"), id="changes what is compared"),
        pytest.param(_proposal("x", compares=(Compare("c", 4),)), id="compares another revision"),
        pytest.param(_proposal("x", value=bytes(PROPOSAL_BYTES_MAX)), id="too large"),
        pytest.param(_proposal(*map(str, range(99))), id="too many changes"),
        pytest.param(
            _proposal(compares=tuple(Compare(str(n), 0) for n in range(99))),
            id="too many compares",
        ),
    ],
)
def test_who_is_in_anothers_way_waits(second: Proposal) -> None:
    batch = Batch()
    first = _proposal("a", compares=(Compare("c", 3),))
    assert batch.take(first)
    assert not batch.take(second)
    assert batch.proposals == [first]
    assert batch.take(_proposal("y", compares=(Compare("c", 3),)))


def test_the_first_always_fits() -> None:
    assert Batch().take(_proposal("a", value=bytes(2 * PROPOSAL_BYTES_MAX)))
