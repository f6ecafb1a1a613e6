"""The recording of a scenario: what is done by ``broker.faults`` and the clock, as steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Protocol

from mqkit.errors import ConfigurationError
from mqkit.testing.scenario.step import STEPS_MAX, Step
from mqkit.testing.scenario.verbs import ADVANCE, VERBS, Seen


class Striking(Protocol):
    """A fault that is to come."""

    @property
    def has_struck(self) -> bool: ...


class Recording:
    """Steps, told by whichever thread. ``now`` is the time of the test's clock, and the
    recording begins now."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._start = now()
        self._lock = Lock()
        self._steps: list[Step] = []
        self._to_come: dict[int, Striking] = {}
        """By the place of its step."""

    def did(self, verb: str, arguments: Mapping[str, int | str], result: object) -> None:
        """A verb of ``broker.faults`` was called. ``result`` is what it returned: a number of what
        was found, or a :class:`Striking` fault.

        Raises :exc:`~mqkit.errors.ConfigurationError` for one step too many.
        """
        seen = VERBS[verb].seen
        with self._lock:
            found = result if seen is Seen.FOUND and isinstance(result, int) else None
            self._add(Step(self._at_ms(), verb, dict(arguments), found))
            if seen is Seen.STRUCK:
                self._to_come[len(self._steps) - 1] = result  # type: ignore[assignment]

    def advanced(self, holding: int) -> None:
        """The clock was moved on, with so many messages in the hands of consumers. Movements that
        follow each other are one step."""
        step = Step(self._at_ms(), ADVANCE, {"holding": holding} if holding else {})
        with self._lock:
            last = self._steps[-1] if self._steps else None
            if last is not None and (last.verb, last.arguments) == (ADVANCE, step.arguments):
                self._steps[-1] = step
            else:
                self._add(step)

    def steps(self) -> list[Step]:
        """All until now, with what was seen of them."""
        with self._lock:
            return [
                replace(step, struck=self._to_come[place].has_struck)
                if place in self._to_come
                else step
                for place, step in enumerate(self._steps)
            ]

    def _at_ms(self) -> int:
        return (self._now() - self._start) // timedelta(milliseconds=1)

    def _add(self, step: Step) -> None:
        if len(self._steps) >= STEPS_MAX:
            raise ConfigurationError(f"a recorded scenario has at most {STEPS_MAX} steps")
        self._steps.append(step)
