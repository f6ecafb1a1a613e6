"""A hunt ends at the seed where a law finds the mutant, and undoes its patch."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace

import pytest

from mutants.hunting import hunt, take_census
from mutants.mutant import Mutant, mutant
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World


def fails(law_of: Callable[[int], str]) -> Mutant:
    """A mutant by which each seed breaks the law that ``law_of`` says; none where that is empty."""

    @mutant("acks", worlds=lambda seed: draw(seed, 1))
    def failing(patch: pytest.MonkeyPatch) -> None:
        def run(self: World) -> None:
            if law := law_of(self.scenario.seed):
                raise Violation(law, "it is broken")

        patch.setattr(World, "run", run)

    return failing


def test_seeds_are_played_until_its_law_finds_it() -> None:
    found = hunt(fails(lambda seed: {3: "order", 5: "acks"}.get(seed, "")), range(20))
    assert (found.law, found.seeds) == ("acks", 6)
    assert found.failures == {"order": 1, "acks": 1}


def test_what_is_not_found_has_no_law() -> None:
    found = hunt(fails(lambda seed: "order"), range(4))
    assert (found.law, found.seeds, found.failures) == ("", 4, {"order": 4})


def test_the_broker_is_as_it_was_after_it() -> None:
    run = World.run
    hunt(fails(lambda seed: "acks"), [1])
    assert World.run is run


def test_an_endless_loop_is_a_failure_of_its_seed() -> None:
    def for_ever(seed: int) -> str:
        while True:
            signal.pause()

    endless = replace(fails(for_ever), laws=())
    found = hunt(endless, [1], seconds=0.05)
    assert found.law.startswith("Endless in ")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_census_plays_every_seed_and_counts_the_laws() -> None:
    several = take_census(fails(lambda seed: {3: "order", 5: "acks"}.get(seed, "")), range(8))
    assert (several.seeds, several.failures) == (8, {"order": 1, "acks": 1})
    assert several.only_law == ""
    one = take_census(fails(lambda seed: "acks" if seed % 2 else ""), range(8))
    assert (one.failures, one.only_law) == ({"acks": 4}, "acks")
    assert take_census(fails(lambda seed: ""), range(2)).only_law == ""
