"""The states of an alert, as a table: told once when a limit is reached, and once when it is over.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from mqkit.lots.alerts.alert import Alert, AlertKind, Condition


class AlertState(Enum):
    """The state of one kind of alert for one queue."""

    QUIET = "quiet"
    RAISED = "raised"


class Telling(Enum):
    """The thing to tell about a measurement."""

    NOTHING = "nothing"
    CROSSED = "crossed"
    OVER = "over"


TRANSITIONS: Mapping[tuple[AlertState, bool], tuple[AlertState, Telling]] = {
    (AlertState.QUIET, False): (AlertState.QUIET, Telling.NOTHING),
    (AlertState.QUIET, True): (AlertState.RAISED, Telling.CROSSED),
    (AlertState.RAISED, True): (AlertState.RAISED, Telling.NOTHING),
    (AlertState.RAISED, False): (AlertState.QUIET, Telling.OVER),
}
"""By the state, and whether the limit is reached now. What can't be measured changes nothing."""


class AlertBook:
    """The alerts of one queue, in this process: another one that takes over tells them again."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._states: dict[AlertKind, AlertState] = {}

    def is_raised(self, kind: AlertKind) -> bool:
        """True between an alert and its end."""
        return self._states.get(kind) is AlertState.RAISED

    def note(self, condition: Condition, now: datetime) -> Alert | None:
        """Take a measurement; the alert to tell, if there is one."""
        before = self._states.get(condition.kind, AlertState.QUIET)
        after, telling = TRANSITIONS[before, condition.is_on]
        self._states[condition.kind] = after
        if telling is Telling.NOTHING:
            return None
        return Alert(
            condition.kind,
            self._queue,
            now,
            is_over=telling is Telling.OVER,
            value=condition.value,
            limit=condition.limit,
            text=condition.text,
        )
