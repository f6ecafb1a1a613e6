"""The states of a native connection and of its channels, and every move between them.

    starting --start--> tuning --tune--> opening --open-ok--> open --close--> closing
                                                                               |
    from everywhere: lost, refused, and close-ok where it was asked for --> closed <+

What the broker sends where the table has no place for it is its breach of the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqkit.transitions import follow


class ConnectionState(StrEnum):
    """The states of a connection."""

    STARTING = "starting"
    """The protocol header was sent; the broker says what it is."""
    TUNING = "tuning"
    """The login was sent; the broker says its limits."""
    OPENING = "opening"
    """The vhost was named."""
    OPEN = "open"
    CLOSING = "closing"
    """``connection.close`` was sent. Nothing is read any more but its answer."""
    CLOSED = "closed"


class ConnectionEvent(StrEnum):
    """The events of a connection's life."""

    START = "start"
    TUNE = "tune"
    OPEN_OK = "open-ok"
    CLOSE = "close"
    """This program closes the connection."""
    CLOSE_OK = "close-ok"
    REFUSED = "refused"
    """The broker closed it, or would not open it."""
    LOST = "lost"
    """The network, or a peer that broke the protocol."""


_ENDS = {
    ConnectionEvent.REFUSED: ConnectionState.CLOSED,
    ConnectionEvent.LOST: ConnectionState.CLOSED,
}

CONNECTION: Mapping[ConnectionState, Mapping[ConnectionEvent, ConnectionState]] = {
    ConnectionState.STARTING: {ConnectionEvent.START: ConnectionState.TUNING, **_ENDS},
    ConnectionState.TUNING: {ConnectionEvent.TUNE: ConnectionState.OPENING, **_ENDS},
    ConnectionState.OPENING: {ConnectionEvent.OPEN_OK: ConnectionState.OPEN, **_ENDS},
    ConnectionState.OPEN: {ConnectionEvent.CLOSE: ConnectionState.CLOSING, **_ENDS},
    ConnectionState.CLOSING: {ConnectionEvent.CLOSE_OK: ConnectionState.CLOSED, **_ENDS},
    ConnectionState.CLOSED: {},
}


class ChannelState(StrEnum):
    """The states of a channel."""

    OPEN = "open"
    """``channel.open`` was sent, and whatever else is sent comes behind it."""
    CLOSING = "closing"
    """``channel.close`` was sent; what comes before its answer is thrown away."""
    ABANDONED = "abandoned"
    """As closing, but nobody waits for the answer any more; only the number is still in use."""
    CLOSED = "closed"


class ChannelEvent(StrEnum):
    """The events of a channel's life."""

    CLOSE = "close"
    CLOSE_OK = "close-ok"
    GIVEN_UP = "given up"
    """The broker did not answer the close in time."""
    REFUSED = "refused"
    LOST = "lost"
    """The connection of the channel is gone."""


CHANNEL: Mapping[ChannelState, Mapping[ChannelEvent, ChannelState]] = {
    ChannelState.OPEN: {
        ChannelEvent.CLOSE: ChannelState.CLOSING,
        ChannelEvent.REFUSED: ChannelState.CLOSED,
        ChannelEvent.LOST: ChannelState.CLOSED,
    },
    ChannelState.CLOSING: {
        ChannelEvent.CLOSE_OK: ChannelState.CLOSED,
        ChannelEvent.GIVEN_UP: ChannelState.ABANDONED,
        # The two closes crossed: the broker's is answered, and it answers ours.
        ChannelEvent.REFUSED: ChannelState.CLOSING,
        ChannelEvent.LOST: ChannelState.CLOSED,
    },
    ChannelState.ABANDONED: {
        ChannelEvent.CLOSE_OK: ChannelState.CLOSED,
        ChannelEvent.REFUSED: ChannelState.ABANDONED,
        ChannelEvent.LOST: ChannelState.CLOSED,
    },
    ChannelState.CLOSED: {},
}


def connection_after(state: ConnectionState, event: ConnectionEvent) -> ConnectionState:
    """Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(CONNECTION, state, event)


def channel_after(state: ChannelState, event: ChannelEvent) -> ChannelState:
    """Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(CHANNEL, state, event)
