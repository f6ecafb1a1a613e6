"""The states of a channel, and the one table of how it goes from one to the next.

Law 5: an answer that must wait (for the disk, later for another node) suspends the channel. Its
later frames are parked in order, and taken up again when the answer has been sent.
"""

from __future__ import annotations

from enum import Enum, unique

from reference_broker.core.base.transitions import TransitionTable


@unique
class ChannelState(Enum):
    """The states of a channel. It is made by channel.open, so it begins OPEN."""

    OPEN = "running"
    SUSPENDED = "suspended"
    CLOSING = "closing"
    CLOSED = "closed"


@unique
class ChannelEvent(Enum):
    """The events that move a channel from one state to the next."""

    SUSPEND = "an answer waits for the disk, or the next request for the socket"
    RESUME = "the answer was sent, or the socket takes more"
    FAIL = "the broker closes: channel.close was sent, and close-ok is awaited"
    CLOSE = "the client closes: close-ok was sent"
    CLOSE_OK = "the client has seen the broker's channel.close"
    CONNECTION_GONE = "the connection ended, and its channels with it"


_S = ChannelState
_E = ChannelEvent

CHANNEL_TRANSITIONS: TransitionTable[ChannelState, ChannelEvent] = TransitionTable(
    {
        (_S.OPEN, _E.SUSPEND): _S.SUSPENDED,
        (_S.OPEN, _E.FAIL): _S.CLOSING,
        (_S.OPEN, _E.CLOSE): _S.CLOSED,
        (_S.OPEN, _E.CONNECTION_GONE): _S.CLOSED,
        (_S.SUSPENDED, _E.RESUME): _S.OPEN,
        (_S.SUSPENDED, _E.CONNECTION_GONE): _S.CLOSED,
        (_S.CLOSING, _E.CLOSE_OK): _S.CLOSED,
        (_S.CLOSING, _E.CONNECTION_GONE): _S.CLOSED,
    }
)
