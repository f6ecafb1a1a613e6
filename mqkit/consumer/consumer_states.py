"""A subscription's states, and every move between them.

    idle --subscribe--> subscribing --subscribed--> consuming
     ^                       |                          |
     +-------- lost ---------+--------------------------+

``pause`` leads from any of these to paused, from where ``resume`` leads back to idle. From anywhere
but ``stopped``, ``drain`` leads to draining, from where only ``stop`` leads on. What is lost while
paused or draining is not subscribed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqkit.transitions import follow


class State(StrEnum):
    """The states of a subscription."""

    IDLE = "idle"
    """Nothing is delivered: there is no connection, or no queue."""
    SUBSCRIBING = "subscribing"
    CONSUMING = "consuming"
    PAUSED = "paused"
    """Nothing is delivered, for the program wants nothing; what was begun is finished."""
    DRAINING = "draining"
    """Nothing new is taken; what was begun is finished and settled."""
    STOPPED = "stopped"


class Event(StrEnum):
    """The events of a subscription's life."""

    SUBSCRIBE = "subscribe"
    SUBSCRIBED = "subscribed"
    LOST = "lost"
    """The channel closed, the broker cancelled the consumer, or would not start it."""
    PAUSE = "pause"
    RESUME = "resume"
    DRAIN = "drain"
    STOP = "stop"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.IDLE: {
        Event.SUBSCRIBE: State.SUBSCRIBING,
        # A channel whose consumer was cancelled by the broker is still there to settle on.
        Event.LOST: State.IDLE,
        Event.PAUSE: State.PAUSED,
        Event.RESUME: State.IDLE,
        Event.DRAIN: State.DRAINING,
        Event.STOP: State.STOPPED,
    },
    State.SUBSCRIBING: {
        Event.SUBSCRIBED: State.CONSUMING,
        Event.LOST: State.IDLE,
        Event.PAUSE: State.PAUSED,
        Event.RESUME: State.SUBSCRIBING,
        Event.DRAIN: State.DRAINING,
        Event.STOP: State.STOPPED,
    },
    State.CONSUMING: {
        Event.LOST: State.IDLE,
        Event.PAUSE: State.PAUSED,
        Event.RESUME: State.CONSUMING,
        Event.DRAIN: State.DRAINING,
        Event.STOP: State.STOPPED,
    },
    State.PAUSED: {
        Event.SUBSCRIBED: State.PAUSED,
        Event.LOST: State.PAUSED,
        Event.PAUSE: State.PAUSED,
        Event.RESUME: State.IDLE,
        Event.DRAIN: State.DRAINING,
        Event.STOP: State.STOPPED,
    },
    State.DRAINING: {
        Event.SUBSCRIBED: State.DRAINING,
        Event.LOST: State.DRAINING,
        Event.PAUSE: State.DRAINING,
        Event.RESUME: State.DRAINING,
        Event.DRAIN: State.DRAINING,
        Event.STOP: State.STOPPED,
    },
    State.STOPPED: {
        Event.SUBSCRIBED: State.STOPPED,
        Event.LOST: State.STOPPED,
        Event.PAUSE: State.STOPPED,
        Event.RESUME: State.STOPPED,
        Event.DRAIN: State.STOPPED,
        Event.STOP: State.STOPPED,
    },
}


def after(state: State, event: Event) -> State:
    """The state that follows. Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(TRANSITIONS, state, event)
