"""The table of steps: complete, without dead ends, and with no way that loses anything."""

from __future__ import annotations

import pytest

from mqkit.topology.migration.acts import ACTS
from mqkit.topology.migration.steps import STEPS, Event, Step, step_after
from mqkit.transitions import IllegalTransition

ORDER = list(Step)


def test_every_step_has_a_row_and_an_act() -> None:
    assert set(STEPS) == set(Step)
    assert set(ACTS) == set(Step) - {Step.FINISHED}


def test_done_leads_through_all_steps_in_their_order() -> None:
    step, seen = Step.DECLARE, [Step.DECLARE]
    while step is not Step.FINISHED:
        step = step_after(step, Event.DONE)
        seen.append(step)
    assert seen == ORDER


@pytest.mark.parametrize("step", [step for step in Step if step is not Step.FINISHED])
def test_an_abort_is_possible_from_every_step(step: Step) -> None:
    assert step_after(step, Event.ABORT_OLD) is Step.RELEASE
    assert step_after(step, Event.ABORT_MISSING) is Step.REPLACE
    assert step_after(step, Event.ABORT_NEW) is Step.DECLARE


def test_a_queue_is_deleted_only_after_it_was_emptied() -> None:
    into = {
        (step, event) for step in STEPS for event, to in STEPS[step].items() if to is Step.REPLACE
    }
    with_a_queue = {step for step, event in into if event is Event.DONE}
    assert with_a_queue == {Step.EMPTY}
    assert {event for _, event in into} == {Event.DONE, Event.MISSING, Event.ABORT_MISSING}
    assert STEPS[Step.REPLACE][Event.NOT_EMPTY] is Step.EMPTY


def test_what_has_no_place_is_illegal() -> None:
    for event in Event:
        with pytest.raises(IllegalTransition):
            step_after(Step.FINISHED, event)
    with pytest.raises(IllegalTransition):
        step_after(Step.FETCH, Event.NOT_EMPTY)
