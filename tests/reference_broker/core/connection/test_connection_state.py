"""The states of a connection: each is reached, and CLOSED is the end."""

from __future__ import annotations

from reference_broker.core.connection.connection_state import (
    CONNECTION_TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)

FIRST = next(iter(ConnectionState))


def steps(state: ConnectionState) -> dict[ConnectionEvent, ConnectionState]:
    """The events that may come in ``state``, and the states that they lead to."""
    return {
        event: CONNECTION_TRANSITIONS.after(state, event)
        for event in ConnectionEvent
        if CONNECTION_TRANSITIONS.allows(state, event)
    }


def test_every_state_is_reached_from_the_first() -> None:
    reached = [FIRST]
    for state in reached:
        reached += [after for after in dict.fromkeys(steps(state).values()) if after not in reached]
    assert set(reached) == set(ConnectionState)


def test_every_event_may_come_in_some_state() -> None:
    assert set(ConnectionEvent) == {event for state in ConnectionState for event in steps(state)}


def test_nothing_leads_out_of_closed() -> None:
    assert set(steps(ConnectionState.CLOSED).values()) <= {ConnectionState.CLOSED}
    assert list(steps(ConnectionState.CLOSED)) == [ConnectionEvent.LOST]
