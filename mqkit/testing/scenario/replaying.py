"""The replay of a scenario: the clock is moved to the moment of each step, and its verb called.

What a verb found when it was recorded has to be there again. It is waited for, in real time, for
that is what connections and consumers come back in.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mqkit.errors import MqkitError
from mqkit.testing.scenario.step import Step
from mqkit.testing.scenario.verbs import ADVANCE, VERBS, Seen
from mqkit.testing.virtual_time.clock import VirtualClock
from mqkit.testing.virtual_time.settling import NotSettled

WITHIN_S = 5.0
"""Real seconds that are waited for what a step needs, as long as an advance waits."""

LOOK_EVERY_S = 0.005


class ScenarioDiffers(MqkitError):
    """A replay came to a step that can't be what it was when it was recorded: the message names the
    step, and what is different. Look at what has changed in the app, or record anew."""


class Faults(Protocol):
    """``broker.faults``: its verbs by name, and what they would find."""

    def connections(self) -> int:
        """The number of connections."""
        ...

    def consumers(self, queue: str) -> int:
        """The number of consumers of ``queue``."""
        ...


class Replay:
    """One replay of ``steps``; ``path`` is their file, for errors."""

    def __init__(
        self, path: Path, steps: Sequence[Step], clock: VirtualClock, faults: Faults
    ) -> None:
        self._path = path
        self._steps = steps
        self._clock = clock
        self._faults = faults
        self._start = clock.utc_now()
        self._to_come: list[tuple[int, Any]] = []

    async def run(self, within_s: float = WITHIN_S) -> None:
        """Raises :exc:`ScenarioDiffers`."""
        for place, step in enumerate(self._steps):
            await self._move_to(place, within_s)
            if step.verb != ADVANCE:
                await self._do(place, within_s)
        for place, fault in self._to_come:
            if not await _until(partial(getattr, fault, "has_struck"), within_s):
                raise self._differs(
                    place,
                    "nothing was published that it could strike, as when it was recorded (publish"
                    " beside the replay, in a task)",
                )

    async def _move_to(self, place: int, within_s: float) -> None:
        moment = self._start + timedelta(milliseconds=self._steps[place].at_ms)
        span = moment - self._clock.utc_now()
        if span <= timedelta():
            return
        try:
            await self._clock.advance(span, holding=self._holding(place), within=within_s)
        except NotSettled as error:
            raise self._differs(place, str(error)) from error

    def _holding(self, place: int) -> int:
        """The messages that consumers may have in hand, in the advance that this step ends or is
        in the middle of."""
        following = (step for step in self._steps[place:] if step.verb == ADVANCE)
        return int(next(following, Step(0, ADVANCE)).arguments.get("holding", 0))

    async def _do(self, place: int, within_s: float) -> None:
        step = self._steps[place]
        if step.found and not await _until(lambda: self._is_there(step), within_s):
            there, had = self._there(step), step.found
            raise self._differs(place, f"it would find {there}, and found {had} when recorded")
        result = getattr(self._faults, step.verb)(**step.arguments)
        if VERBS[step.verb].seen is Seen.STRUCK and step.struck:
            self._to_come.append((place, result))

    def _is_there(self, step: Step) -> bool:
        """Connections are counted loosely: one that nobody needs comes back when it likes."""
        there = self._there(step)
        return there == step.found if "queue" in step.arguments else there > 0

    def _there(self, step: Step) -> int:
        queue = step.arguments.get("queue")
        return self._faults.connections() if queue is None else self._faults.consumers(str(queue))

    def _differs(self, place: int, why: str) -> ScenarioDiffers:
        return ScenarioDiffers(f"{self._path}, step {place + 1} ({self._steps[place]}): {why}")


async def _until(is_so: Callable[[], bool], within_s: float) -> bool:
    """False where it is not so within that much real time."""
    end_s = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end_s:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True
