"""The search for the smallest cut of a scenario that breaks the same law.

Each part of a world has a source of randomness of its own, so that most of a run stays as it was
when a part of it is left out. Where it doesn't, a cut may not fail: each is tried, and the one that
fails is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from reference_broker.simulation.cut import Cut, needed_queue, queue_names
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.report import SeedResult, run_world
from reference_broker.simulation.world import World

TRIES = 300
"""Runs of one search: enough for two rounds over the thirty strikes and few clients of a seed. A
run takes a second or less, the less the more is cut away."""

SECONDS = 60.0
"""Seconds of real time, after which a search begins no run any more: nobody waits for longer."""

_ROUNDS = 2
"""Rounds over all kinds of parts: a part may be needless when one of another kind is gone."""

_SHORTEST_US = 250_000
"""Shorter runs are not worth a try: clients need as much to connect."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """The end of a search: the smallest cut that was found, its failure, and the number of
    tries."""

    cut: Cut
    result: SeedResult
    tries: int


def shorten(
    scenario: Scenario,
    tries: int = TRIES,
    seconds: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
) -> Shortened | None:
    """Look for the smallest cut, in so many tries at most, or ``seconds`` of the clock ``now``.
    Returns ``None`` for a scenario that doesn't fail."""
    until = now() + seconds
    world = World(scenario)
    result = run_world(world)
    if not result.failure:
        return None
    whole = Cut(
        clients=tuple(client.index for client in scenario.clients),
        features=scenario.features,
        queues=queue_names(scenario),
        duration_us=scenario.duration_us,
    )
    search = _Search(scenario, _without_idle(whole, world), result, tries, lambda: now() >= until)
    search.begin(result.virtual_us)
    return Shortened(search.best, search.result, search.tries)


class _Search:
    """``best`` is the smallest cut so far that breaks the law of ``result``."""

    def __init__(
        self,
        scenario: Scenario,
        whole: Cut,
        result: SeedResult,
        tries: int,
        is_over: Callable[[], bool],
    ) -> None:
        self.best = whole
        self.result = result
        self.tries = 0
        self._scenario = scenario
        self._tries_max = tries
        self._is_over = is_over

    def begin(self, failed_us: int) -> None:
        """Look for it; the failure came at ``failed_us`` of virtual time."""
        if failed_us < self._number("duration_us"):
            self._holds(self._with("duration_us", failed_us))
        for _ in range(_ROUNDS):
            before = self.best
            self._fewest("features")
            self._fewest("clients")
            self._least("duration_us", _SHORTEST_US)
            self._fewest("strikes")
            self._fewest("queues", needed_queue(self._scenario))
            self._least("actions", 0)
            if self.best == before:
                return

    def _fewest(self, kind: str, needed: object = None) -> None:
        """Leave out all parts of a kind but ``needed``, then halves, and so on to single ones."""
        size = len(self._parts(kind))
        while size:
            place = 0
            while place < len(parts := self._parts(kind)):
                left_out = {*parts[place : place + size]} - {needed}
                kept = tuple(part for part in parts if part not in left_out)
                if not left_out or not self._holds(self._with(kind, kept)):
                    place += size
            size //= 2

    def _least(self, kind: str, least: int) -> None:
        """Come as close to ``least`` as it goes, by halves, to a twentieth."""
        low = least
        while low < (high := self._number(kind)):
            middle = (low + high) // 2
            if not self._holds(self._with(kind, middle)):
                low = middle + 1
                if high - low < high // 20:
                    return

    def _parts(self, kind: str) -> tuple[object, ...]:
        parts: tuple[object, ...] | None = getattr(self.best, kind)
        return parts or ()

    def _number(self, kind: str) -> int:
        number: int | None = getattr(self.best, kind)
        return number or 0

    def _with(self, kind: str, value: object) -> Cut:
        changed: dict[str, Any] = {kind: value}
        return replace(self.best, **changed)

    def _holds(self, cut: Cut) -> bool:
        """Try a cut, and take it for the best if it breaks the law."""
        if self.tries >= self._tries_max or self._is_over():
            return False
        self.tries += 1
        world = World(self._scenario, cut=cut)
        result = run_world(world)
        if result.law != self.result.law:
            return False
        self.best, self.result = _without_idle(cut, world), result
        return True


def _without_idle(cut: Cut, world: World) -> Cut:
    """The cut without strikes that never came to be, and actions that nobody took in its world."""
    return replace(
        cut,
        strikes=tuple(strike.number for strike in world.faults.struck),
        actions=max((actor.actions for actor in world.actors[:-1]), default=0),
    )
