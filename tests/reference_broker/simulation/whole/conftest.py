"""The search for planted bugs: seed after seed, until a checker finds what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.report import SeedResult, WorldFactory, run_seed
from reference_broker.simulation.world import World

DURATION_US = 20_000_000


@pytest.fixture(scope="session")
def small_world() -> WorldFactory:
    """Worlds of 20 virtual seconds."""
    return lambda seed: World(draw(seed, DURATION_US))


@pytest.fixture(scope="session")
def find(small_world: WorldFactory) -> Callable[..., SeedResult]:
    """``find(checker, seeds, make)`` gives the first of ``seeds`` whose failure begins with the
    name of ``checker``; any failure will do where that is empty. Fails where there is none.
    ``make`` gives the worlds; ``None`` stands for small ones."""

    def first(checker: str, seeds: Sequence[int], make: WorldFactory | None) -> SeedResult:
        failures = []
        for seed in seeds:
            result = run_seed(seed, make or small_world)
            failures.append(result.failure)
            if result.failure and result.failure.startswith(checker):
                print(f"seed {seed}: {result.failure}")
                return result
        pytest.fail(f"{checker} didn't see it: {failures}")

    return first
