"""The steps of a migration, and every way between them: a complete table.

A step that was begun and not ended is done once more from its beginning; each may be, any number of
times. Where the queue is missing though no step has deleted it, it is declared next. An abort
depends on the queue that is there: the old one gets its messages back, and another one is migrated
back in the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqkit.transitions import follow


class Step(StrEnum):
    """The steps, in their order."""

    DECLARE = "declare"
    """The temporary queue, the gate, and the exchanges to both queues."""
    GATE = "gate"
    """The gate is bound as the queue is, and leads to it: a message comes once, by two ways."""
    UNBIND = "unbind"
    """The queue is unbound: messages come by the gate alone."""
    FETCH = "fetch"
    """Move what is there to the temporary queue, while new messages still come behind it."""
    DIVERT = "divert"
    """The gate leads to the temporary queue from now on."""
    EMPTY = "empty"
    """Move the rest; hold what would come back by name; wait until nothing is unacked."""
    REPLACE = "replace"
    """Delete the queue, and declare it as it shall be."""
    RELEASE = "release"
    """Messages that were held go back."""
    RETURN = "return"
    """Move the messages back, while new ones still come behind them."""
    REVERT = "revert"
    """The gate leads to the queue again."""
    FOLLOW = "follow"
    """Move the rest back."""
    BIND = "bind"
    """The queue is bound as it was."""
    UNGATE = "ungate"
    """The gate is unbound."""
    REMOVE = "remove"
    """The temporary queue, the gate and the keepers are deleted."""
    FINISHED = "finished"


class Event(StrEnum):
    """The events that end a step, or change the way."""

    DONE = "done"
    NOT_EMPTY = "not empty"
    """Something came to the queue right before it was to be deleted."""
    MISSING = "missing"
    """The queue is not there, and no step has deleted it."""
    ABORT_OLD = "abort: the queue is the old one"
    ABORT_MISSING = "abort: the queue is not there"
    ABORT_NEW = "abort: the queue is another one already"


_ABORTS = {
    Event.ABORT_OLD: Step.RELEASE,
    Event.ABORT_MISSING: Step.REPLACE,
    Event.ABORT_NEW: Step.DECLARE,
}
_BEFORE_REPLACE = {Event.MISSING: Step.REPLACE, **_ABORTS}

STEPS: Mapping[Step, Mapping[Event, Step]] = {
    Step.DECLARE: {Event.DONE: Step.GATE, **_BEFORE_REPLACE},
    Step.GATE: {Event.DONE: Step.UNBIND, **_BEFORE_REPLACE},
    Step.UNBIND: {Event.DONE: Step.FETCH, **_BEFORE_REPLACE},
    Step.FETCH: {Event.DONE: Step.DIVERT, **_BEFORE_REPLACE},
    Step.DIVERT: {Event.DONE: Step.EMPTY, **_BEFORE_REPLACE},
    Step.EMPTY: {Event.DONE: Step.REPLACE, **_BEFORE_REPLACE},
    Step.REPLACE: {Event.DONE: Step.RELEASE, Event.NOT_EMPTY: Step.EMPTY, **_ABORTS},
    Step.RELEASE: {Event.DONE: Step.RETURN, **_BEFORE_REPLACE},
    Step.RETURN: {Event.DONE: Step.REVERT, **_BEFORE_REPLACE},
    Step.REVERT: {Event.DONE: Step.FOLLOW, **_BEFORE_REPLACE},
    Step.FOLLOW: {Event.DONE: Step.BIND, **_BEFORE_REPLACE},
    Step.BIND: {Event.DONE: Step.UNGATE, **_BEFORE_REPLACE},
    Step.UNGATE: {Event.DONE: Step.REMOVE, **_BEFORE_REPLACE},
    Step.REMOVE: {Event.DONE: Step.FINISHED, **_BEFORE_REPLACE},
    Step.FINISHED: {},
}


def step_after(step: Step, event: Event) -> Step:
    """Raises :exc:`~mqkit.transitions.IllegalTransition`."""
    return follow(STEPS, step, event)
