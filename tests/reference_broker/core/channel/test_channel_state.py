"""The states of a channel: each is reached, and CLOSED is the end."""

from __future__ import annotations

from reference_broker.core.channel.channel_state import (
    CHANNEL_TRANSITIONS,
    ChannelEvent,
    ChannelState,
)

FIRST = next(iter(ChannelState))


def steps(state: ChannelState) -> dict[ChannelEvent, ChannelState]:
    """The events that may come in ``state``, and the states that they lead to."""
    return {
        event: CHANNEL_TRANSITIONS.after(state, event)
        for event in ChannelEvent
        if CHANNEL_TRANSITIONS.allows(state, event)
    }


def test_every_state_is_reached_from_the_first() -> None:
    reached = [FIRST]
    for state in reached:
        reached += [after for after in dict.fromkeys(steps(state).values()) if after not in reached]
    assert set(reached) == set(ChannelState)


def test_every_event_may_come_in_some_state() -> None:
    assert set(ChannelEvent) == {event for state in ChannelState for event in steps(state)}


def test_nothing_leads_out_of_closed() -> None:
    assert set(steps(ChannelState.CLOSED).values()) <= {ChannelState.CLOSED}
    assert list(steps(ChannelState.CLOSED)) == []
