"""Planted bugs, each in a scenario where its law is broken."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from mutants.registry import MUTANTS
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.report import run_world
from reference_broker.simulation.world import World

Planted = Callable[[str], Scenario]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Planted:
    """Plants the mutant of a name, and gives the first scenario, from the one where it showed once
    on, that fails by its law."""

    def plant(name: str) -> Scenario:
        mutant = MUTANTS[name]
        mutant.plant(monkeypatch)
        scenarios = map(mutant.worlds, count(mutant.showed_at))
        return next(each for each in scenarios if mutant.is_found_by(run_world(World(each))))

    return plant
