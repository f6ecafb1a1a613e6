"""Each planted bug is found by a law that should find it, for a checker that never goes red proves
nothing."""

from __future__ import annotations

import pytest

from mutants.hunting import hunt
from mutants.mutant import Mutant
from mutants.registry import MUTANTS

SEEDS = 150


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    """On the seed where it showed, or on another where the broker has changed since."""
    at = mutant.showed_at
    found = hunt(mutant, [at, *range(at + 1, SEEDS), *range(at)])
    print(found)
    assert found.law, f"{mutant.laws} didn't see it: {found.failures}"
