from __future__ import annotations

import pytest

from reference_broker.store.spare import TRANSITIONS, Spare, SpareState


def test_it_is_asked_for_once_and_used_once() -> None:
    spare = Spare()
    assert spare.ask()
    assert not spare.ask()
    assert not spare.take()  # nobody knows yet
    spare.answered(missing=False)
    assert spare.take()
    assert not spare.take()
    assert spare.ask()


def test_a_missing_one_is_asked_for_again_only_when_told_to() -> None:
    spare = Spare()
    spare.ask()
    spare.answered(missing=True)
    assert not spare.take()
    assert not spare.ask()
    spare.retry()
    assert spare.ask()


@pytest.mark.parametrize("state", SpareState)
def test_what_comes_at_the_wrong_time_changes_nothing(state: SpareState) -> None:
    for event in (Spare.ask, Spare.take, Spare.retry):
        spare = Spare()
        spare.state = state
        event(spare)
        assert spare.state is state or spare.state in TRANSITIONS[state]
    spare = Spare()
    spare.state = state
    spare.answered(missing=False)
    assert spare.state is (SpareState.READY if state is SpareState.ASKED else state)
