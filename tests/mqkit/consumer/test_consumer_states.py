"""The table of a subscription's states."""

from __future__ import annotations

import pytest

from mqkit.consumer.consumer_states import TRANSITIONS, Event, State, after
from mqkit.transitions import IllegalTransition


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(State)


def test_the_way_up_and_back() -> None:
    state = State.IDLE
    for event, expected in (
        (Event.SUBSCRIBE, State.SUBSCRIBING),
        (Event.SUBSCRIBED, State.CONSUMING),
        (Event.LOST, State.IDLE),
        (Event.SUBSCRIBE, State.SUBSCRIBING),
        (Event.DRAIN, State.DRAINING),
        (Event.SUBSCRIBED, State.DRAINING),
        (Event.LOST, State.DRAINING),
        (Event.STOP, State.STOPPED),
    ):
        state = after(state, event)
        assert state is expected


@pytest.mark.parametrize("state", [State.IDLE, State.SUBSCRIBING, State.CONSUMING, State.PAUSED])
def test_a_pause_holds_whatever_happens_until_it_is_resumed(state: State) -> None:
    paused = after(state, Event.PAUSE)
    assert paused is State.PAUSED
    for event in (Event.PAUSE, Event.LOST, Event.SUBSCRIBED):
        assert after(paused, event) is State.PAUSED
    assert after(paused, Event.RESUME) is State.IDLE


@pytest.mark.parametrize("state", [state for state in State if state is not State.PAUSED])
def test_what_is_not_paused_is_resumed_already(state: State) -> None:
    assert after(state, Event.RESUME) is state


@pytest.mark.parametrize("state", [State.DRAINING, State.STOPPED])
def test_what_ends_is_not_paused(state: State) -> None:
    assert after(state, Event.PAUSE) is state


@pytest.mark.parametrize("state", State)
def test_everything_can_be_drained_stopped_and_lost(state: State) -> None:
    ended = State.STOPPED if state is State.STOPPED else State.DRAINING
    assert after(state, Event.DRAIN) is ended
    assert after(state, Event.STOP) is State.STOPPED
    assert after(state, Event.LOST) not in (State.SUBSCRIBING, State.CONSUMING)


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (State.IDLE, Event.SUBSCRIBED),
        (State.SUBSCRIBING, Event.SUBSCRIBE),
        (State.CONSUMING, Event.SUBSCRIBE),
        (State.CONSUMING, Event.SUBSCRIBED),
        (State.PAUSED, Event.SUBSCRIBE),
        (State.DRAINING, Event.SUBSCRIBE),
        (State.STOPPED, Event.SUBSCRIBE),
    ],
)
def test_an_illegal_move_raises(state: State, event: Event) -> None:
    with pytest.raises(IllegalTransition, match=f"{event} in the state {state}"):
        after(state, event)
