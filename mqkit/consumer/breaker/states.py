"""A circuit's states, and every move between them.

    closed --unavailable--> open --due--> half-open --proven--> closed
                             ^                |
                             +- unavailable --+

What handlers say that were running when the circuit opened changes nothing: they began before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqkit.transitions import follow


class State(StrEnum):
    """The states of a consumer's circuit."""

    CLOSED = "closed"
    """The consumer consumes."""
    OPEN = "open"
    """Nothing is consumed, and no handler begins, until the next probe is due."""
    HALF_OPEN = "half-open"
    """One message at a time is handled, as a probe."""


class Event(StrEnum):
    """The events of a circuit's life."""

    UNAVAILABLE = "unavailable"
    """A handler raised ``Unavailable``."""
    DUE = "due"
    """The wait before the next probe is over."""
    HANDLED = "handled"
    """A handler ended in any other way: what it needs is there."""
    PROVEN = "proven"
    """That was so often enough in a row."""


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.CLOSED: {
        Event.UNAVAILABLE: State.OPEN,
        Event.HANDLED: State.CLOSED,
    },
    State.OPEN: {
        Event.UNAVAILABLE: State.OPEN,
        Event.DUE: State.HALF_OPEN,
        Event.HANDLED: State.OPEN,
    },
    State.HALF_OPEN: {
        Event.UNAVAILABLE: State.OPEN,
        Event.HANDLED: State.HALF_OPEN,
        Event.PROVEN: State.CLOSED,
    },
}


def after(state: State, event: Event) -> State:
    """The state that follows. Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(TRANSITIONS, state, event)
