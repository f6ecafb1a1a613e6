"""The states of a link: each is reached, and what is not in the table raises."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.link_state import (
    LINK_TRANSITIONS,
    LinkEvent,
    LinkState,
)
from reference_broker.core.base.transitions import IllegalTransition

FIRST = next(iter(LinkState))
LAST = {LinkState.CLOSED}


def steps(state: LinkState) -> dict[LinkEvent, LinkState]:
    return {
        event: LINK_TRANSITIONS.after(state, event)
        for event in LinkEvent
        if LINK_TRANSITIONS.allows(state, event)
    }


def test_every_state_is_reached_from_the_first() -> None:
    reached = [FIRST]
    for state in reached:
        reached += [after for after in dict.fromkeys(steps(state).values()) if after not in reached]
    assert set(reached) == set(LinkState)


def test_every_event_may_come_in_some_state() -> None:
    assert {event for state in LinkState for event in steps(state)} == set(LinkEvent)


def test_nothing_leads_out_of_the_last_states_and_all_others_lead_there() -> None:
    for state in LinkState:
        after = set(steps(state).values())
        assert after <= {state} if state in LAST else after - {state}


@pytest.mark.parametrize("state", LinkState, ids=lambda state: state.name)
def test_what_is_not_in_the_table_raises(state: LinkState) -> None:
    for event in set(LinkEvent) - set(steps(state)):
        with pytest.raises(IllegalTransition, match=f"{event.name} in state {state.name}"):
            LINK_TRANSITIONS.after(state, event)
