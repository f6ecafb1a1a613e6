"""The state tables: complete, and illegal events refused with nothing changed."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from reference_broker.core.base.transitions import IllegalTransition, TransitionTable
from reference_broker.core.channel.channel_state import (
    CHANNEL_TRANSITIONS,
    ChannelEvent,
    ChannelState,
)
from reference_broker.core.connection.connection_state import (
    CONNECTION_TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)

MACHINES: list[tuple[TransitionTable[Any, Any], type[Enum], type[Enum], Enum, Enum]] = [
    (
        CONNECTION_TRANSITIONS,
        ConnectionState,
        ConnectionEvent,
        ConnectionState.AWAIT_HEADER,
        ConnectionState.CLOSED,
    ),
    (CHANNEL_TRANSITIONS, ChannelState, ChannelEvent, ChannelState.OPEN, ChannelState.CLOSED),
]


@pytest.mark.parametrize(("table", "states", "events", "first", "last"), MACHINES)
def test_every_state_is_reached_and_every_state_leads_to_the_end(
    table: TransitionTable[Any, Any],
    states: type[Enum],
    events: type[Enum],
    first: Enum,
    last: Enum,
) -> None:
    reached = [first]
    for state in reached:
        for event in events:
            if table.allows(state, event) and table.after(state, event) not in reached:
                reached.append(table.after(state, event))
    assert sorted(state.name for state in reached) == sorted(state.name for state in states)
    for state in states:
        if state is not last:
            assert any(table.allows(state, event) for event in events), state


@pytest.mark.parametrize(("table", "states", "events", "first", "last"), MACHINES)
def test_every_event_is_used(
    table: TransitionTable[Any, Any],
    states: type[Enum],
    events: type[Enum],
    first: Enum,
    last: Enum,
) -> None:
    for event in events:
        assert any(table.allows(state, event) for state in states), event


@pytest.mark.parametrize(("table", "states", "events", "first", "last"), MACHINES)
def test_what_is_not_in_the_table_raises(
    table: TransitionTable[Any, Any],
    states: type[Enum],
    events: type[Enum],
    first: Enum,
    last: Enum,
) -> None:
    refused = 0
    for state in states:
        for event in events:
            if not table.allows(state, event):
                refused += 1
                with pytest.raises(IllegalTransition, match=f"{event.name} in state {state.name}"):
                    table.after(state, event)
    assert refused + len(table.transitions) == len(states) * len(events)


def test_a_lost_socket_ends_every_state() -> None:
    for state in ConnectionState:
        assert CONNECTION_TRANSITIONS.after(state, ConnectionEvent.LOST) is ConnectionState.CLOSED


def test_a_connection_that_ends_takes_every_channel_with_it() -> None:
    for state in ChannelState:
        if state is not ChannelState.CLOSED:
            after = CHANNEL_TRANSITIONS.after(state, ChannelEvent.CONNECTION_GONE)
            assert after is ChannelState.CLOSED
