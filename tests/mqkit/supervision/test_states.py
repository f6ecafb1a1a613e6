"""The table is complete, and what is not in it changes nothing."""

from __future__ import annotations

import pytest

from mqkit.supervision.states import TRANSITIONS, Event, State, after
from mqkit.transitions import IllegalTransition


def test_every_state_is_in_the_table() -> None:
    assert set(TRANSITIONS) == set(State)


def test_every_state_is_reachable_and_closed_is_the_only_end() -> None:
    reached = {State.CONNECTING}
    for _ in State:
        reached |= {target for state in reached for target in TRANSITIONS[state].values()}
    assert reached == set(State)
    assert [state for state in State if not TRANSITIONS[state]] == [State.CLOSED]


@pytest.mark.parametrize("state", [state for state in State if state is not State.CLOSED])
def test_draining_closing_and_losing_are_possible_everywhere(state: State) -> None:
    assert after(state, Event.DRAIN) is State.DRAINING
    assert after(state, Event.CLOSE) is State.CLOSED
    assert after(state, Event.LOST) in (State.CONNECTING, State.CLOSED)


@pytest.mark.parametrize(
    ("state", "event"),
    [(state, event) for state in State for event in Event if event not in TRANSITIONS[state]],
)
def test_an_illegal_event_raises(state: State, event: Event) -> None:
    with pytest.raises(IllegalTransition, match=f"{event} in the state {state}"):
        after(state, event)
