"""The supervisor's states, and every move between them.

    connecting --connected--> declaring --declared--> ready <--unblocked/blocked--> blocked
        ^                         |                     |                             |
        +---------- lost ---------+---------------------+-----------------------------+

From anywhere but ``closed``, ``drain`` leads to draining and ``close`` to closed. A connection
that is lost while draining is not replaced: the broker delivers again what was unacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mqkit.transitions import follow


class State(StrEnum):
    """The states of the client's connections."""

    CONNECTING = "connecting"
    DECLARING = "declaring"
    """Connected; topology and consumers are being set up."""
    READY = "ready"
    BLOCKED = "blocked"
    """Connected, but the broker takes no publishes (``connection.blocked``)."""
    DRAINING = "draining"
    """Finishing what was begun; consumers take nothing new."""
    CLOSED = "closed"


class Event(StrEnum):
    """The events that change the state of the client's connections."""

    CONNECTED = "connected"
    DECLARED = "declared"
    LOST = "lost"
    BLOCKED = "blocked"
    UNBLOCKED = "unblocked"
    DRAIN = "drain"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Change:
    """One move of the supervisor. ``detail`` says why, where there is something to say."""

    before: State
    event: Event
    after: State
    detail: str = ""


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.CONNECTING: {
        Event.CONNECTED: State.DECLARING,
        Event.LOST: State.CONNECTING,
        Event.DRAIN: State.DRAINING,
        Event.CLOSE: State.CLOSED,
    },
    State.DECLARING: {
        Event.DECLARED: State.READY,
        Event.LOST: State.CONNECTING,
        # Remembered, and acted upon when ready: what is being set up needs no publishing.
        Event.BLOCKED: State.DECLARING,
        Event.UNBLOCKED: State.DECLARING,
        Event.DRAIN: State.DRAINING,
        Event.CLOSE: State.CLOSED,
    },
    State.READY: {
        Event.LOST: State.CONNECTING,
        Event.BLOCKED: State.BLOCKED,
        Event.UNBLOCKED: State.READY,
        Event.DRAIN: State.DRAINING,
        Event.CLOSE: State.CLOSED,
    },
    State.BLOCKED: {
        Event.LOST: State.CONNECTING,
        Event.BLOCKED: State.BLOCKED,
        Event.UNBLOCKED: State.READY,
        Event.DRAIN: State.DRAINING,
        Event.CLOSE: State.CLOSED,
    },
    State.DRAINING: {
        Event.LOST: State.CLOSED,
        Event.BLOCKED: State.DRAINING,
        Event.UNBLOCKED: State.DRAINING,
        Event.DRAIN: State.DRAINING,
        Event.CLOSE: State.CLOSED,
    },
    State.CLOSED: {},
}


def after(state: State, event: Event) -> State:
    """The state that follows. Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(TRANSITIONS, state, event)
