"""The states of a handshake: each is reached, and what is not in the table raises."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.handshake_state import (
    HANDSHAKE_TRANSITIONS,
    HandshakeEvent,
    HandshakeState,
)
from reference_broker.core.base.transitions import IllegalTransition

FIRST = next(iter(HandshakeState))
LAST = {HandshakeState.DONE, HandshakeState.REFUSED}


def steps(state: HandshakeState) -> dict[HandshakeEvent, HandshakeState]:
    return {
        event: HANDSHAKE_TRANSITIONS.after(state, event)
        for event in HandshakeEvent
        if HANDSHAKE_TRANSITIONS.allows(state, event)
    }


def test_every_state_is_reached_from_the_first() -> None:
    reached = [FIRST]
    for state in reached:
        reached += [after for after in dict.fromkeys(steps(state).values()) if after not in reached]
    assert set(reached) == set(HandshakeState)


def test_every_event_may_come_in_some_state() -> None:
    assert {event for state in HandshakeState for event in steps(state)} == set(HandshakeEvent)


def test_nothing_leads_out_of_the_last_states_and_all_others_lead_there() -> None:
    for state in HandshakeState:
        after = set(steps(state).values())
        assert after <= {state} if state in LAST else after - {state}


@pytest.mark.parametrize("state", HandshakeState, ids=lambda state: state.name)
def test_what_is_not_in_the_table_raises(state: HandshakeState) -> None:
    for event in set(HandshakeEvent) - set(steps(state)):
        with pytest.raises(IllegalTransition, match=f"{event.name} in state {state.name}"):
            HANDSHAKE_TRANSITIONS.after(state, event)
