"""The table of a circuit's states."""

from __future__ import annotations

import pytest

from mqkit.consumer.breaker.states import TRANSITIONS, Event, State, after
from mqkit.transitions import IllegalTransition


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(State)


def test_the_way_round() -> None:
    state = State.CLOSED
    for event, expected in (
        (Event.HANDLED, State.CLOSED),
        (Event.UNAVAILABLE, State.OPEN),
        (Event.UNAVAILABLE, State.OPEN),
        (Event.HANDLED, State.OPEN),
        (Event.DUE, State.HALF_OPEN),
        (Event.UNAVAILABLE, State.OPEN),
        (Event.DUE, State.HALF_OPEN),
        (Event.HANDLED, State.HALF_OPEN),
        (Event.PROVEN, State.CLOSED),
    ):
        state = after(state, event)
        assert state is expected


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (State.CLOSED, Event.DUE),
        (State.CLOSED, Event.PROVEN),
        (State.OPEN, Event.PROVEN),
        (State.HALF_OPEN, Event.DUE),
    ],
)
def test_an_illegal_move_raises(state: State, event: Event) -> None:
    with pytest.raises(IllegalTransition, match=f"{event} in the state {state}"):
        after(state, event)
