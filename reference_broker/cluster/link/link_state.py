"""The states of a link, and the one table of how it goes from one to the next."""

from __future__ import annotations

from enum import Enum, unique

from reference_broker.core.base.transitions import TransitionTable


@unique
class LinkState(Enum):
    """The states of a link, which begins with a socket that is connected."""

    GREETING = "the handshake is under way"
    OPEN = "messages go both ways"
    ENDING = "the other end is to be told why it ends"
    CLOSED = "the socket is to be closed, or is gone"


@unique
class LinkEvent(Enum):
    """The events that move a link from one state to the next."""

    GREETED = "both ends know each other"
    END = "this end ends it, and says why"
    TOLD = "the last word was handed to the socket"
    BREAK = "there is nobody to say it to, or no time"
    LOST = "the socket is gone"


_S = LinkState
_E = LinkEvent

LINK_TRANSITIONS: TransitionTable[LinkState, LinkEvent] = TransitionTable(
    {
        (_S.GREETING, _E.GREETED): _S.OPEN,
        (_S.GREETING, _E.END): _S.ENDING,
        (_S.GREETING, _E.BREAK): _S.CLOSED,
        (_S.GREETING, _E.LOST): _S.CLOSED,
        (_S.OPEN, _E.END): _S.ENDING,
        (_S.OPEN, _E.BREAK): _S.CLOSED,
        (_S.OPEN, _E.LOST): _S.CLOSED,
        (_S.ENDING, _E.TOLD): _S.CLOSED,
        (_S.ENDING, _E.BREAK): _S.CLOSED,
        (_S.ENDING, _E.LOST): _S.CLOSED,
        (_S.CLOSED, _E.LOST): _S.CLOSED,
    }
)
