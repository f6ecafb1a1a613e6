"""A planted bug: what it changes in the broker, and which laws should find it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mutants.worlds import Worlds, small
from reference_broker.simulation.report import SeedResult

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug that ``plant`` puts into the broker of this process, until its patch is undone."""

    name: str
    """Its module in :mod:`mutants.planted` and its function: ``store.no_sync``."""
    laws: tuple[str, ...]
    """Names of the checkers or features, one of which should find it. None: any failure will do,
    an error of the broker's own included."""
    plant: Plant
    worlds: Worlds
    """The scenario of each seed in which it is looked for."""
    showed_at: int
    """A seed at which it showed once: tests look there first."""

    @property
    def source(self) -> str:
        """The text of its function, decorator included."""
        return inspect.getsource(self.plant)

    def is_found_by(self, result: SeedResult) -> bool:
        """True if the seed failed as it should with this bug."""
        return bool(result.failure) and (not self.laws or result.law in self.laws)


def mutant(*laws: str, worlds: Worlds = small, showed_at: int = 0) -> Callable[[Plant], Mutant]:
    """Make a :class:`Mutant` of the function that plants it."""

    def made(plant: Plant) -> Mutant:
        module = plant.__module__.rpartition(".")[2]
        return Mutant(f"{module}.{plant.__name__}", laws, plant, worlds, showed_at)

    return made
