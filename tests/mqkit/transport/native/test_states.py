"""The tables of states are complete, and nothing leads out of the end."""

from __future__ import annotations

import pytest

from mqkit.transitions import IllegalTransition
from mqkit.transport.native.states import (
    CHANNEL,
    CONNECTION,
    ChannelEvent,
    ChannelState,
    ConnectionEvent,
    ConnectionState,
    channel_after,
    connection_after,
)


def test_every_state_has_its_row() -> None:
    assert set(CONNECTION) == set(ConnectionState)
    assert set(CHANNEL) == set(ChannelState)


@pytest.mark.parametrize("event", list(ConnectionEvent))
def test_nothing_happens_to_a_closed_connection(event: ConnectionEvent) -> None:
    with pytest.raises(IllegalTransition):
        connection_after(ConnectionState.CLOSED, event)


@pytest.mark.parametrize("event", list(ChannelEvent))
def test_nothing_happens_to_a_closed_channel(event: ChannelEvent) -> None:
    with pytest.raises(IllegalTransition):
        channel_after(ChannelState.CLOSED, event)


def test_whatever_a_connection_does_it_can_be_lost() -> None:
    for state in ConnectionState:
        if state is not ConnectionState.CLOSED:
            assert connection_after(state, ConnectionEvent.LOST) is ConnectionState.CLOSED
