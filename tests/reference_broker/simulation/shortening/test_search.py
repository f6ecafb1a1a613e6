"""A search finds less that fails by the same law, in so many tries and seconds; it replays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from reference_broker.simulation.cut import parse
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import run_world
from reference_broker.simulation.shortening.search import Shortened, shorten
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World

Planted = Callable[[str], Scenario]

Breaks = Callable[[World], str]
"""The law that a world breaks, at once; none where that is empty."""

SCENARIO = with_features(replace(draw(7), bit_rot=False), ["quorum", "delayed"])


def shortened(
    scenario: Scenario,
    breaks: Breaks,
    monkeypatch: pytest.MonkeyPatch,
    tries: int = 300,
    now: Callable[[], float] = lambda: 0.0,
) -> Shortened | None:
    """The end of a search in worlds that don't run."""

    def run(self: World) -> None:
        if law := breaks(self):
            raise Violation(law, "it is broken")

    monkeypatch.setattr(World, "run", run)
    return shorten(scenario, tries, 5.0, now)


def names(world: World) -> set[str]:
    return {actor.name for actor in world.actors[:-1]}


def test_what_a_failure_needs_is_left_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(world: World) -> str:
        queues = {queue.name for queue in world.scenario.queues}
        needed = {"client 1"} <= names(world) and "solo-2" in queues
        return "acks" * (needed and "delayed" in world.scenario.features)

    found = shortened(SCENARIO, breaks, monkeypatch)
    assert found is not None
    words = "clients=1 features=delayed queues=shared-0,solo-2 strikes= actions=0 seconds="
    assert found.cut.words().startswith(words)
    assert found.cut.duration_us is not None
    assert found.cut.duration_us < 300_000


def test_parts_that_are_needed_together_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shortened(
        SCENARIO, lambda world: "acks" * ({"client 0", "client 2"} <= names(world)), monkeypatch
    )
    assert found is not None
    assert found.cut.clients == (0, 2)


def test_time_is_cut_to_a_twentieth_of_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(world: World) -> str:
        world.clock.now_us = 50_000_000
        return "acks" * (world.scenario.duration_us >= 7_000_000)

    found = shortened(SCENARIO, breaks, monkeypatch)
    assert found is not None
    assert found.cut.duration_us is not None
    assert 7_000_000 <= found.cut.duration_us < 7_400_000


def test_another_law_is_another_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(SCENARIO.clients)
    found = shortened(
        SCENARIO,
        lambda world: "acks" if len(names(world)) == whole else "order",
        monkeypatch,
    )
    assert found is not None
    assert (found.cut.clients, found.result.law) == ((0, 1, 2), "acks")


def test_no_more_tries_are_made_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shortened(SCENARIO, lambda world: "acks", monkeypatch, tries=3)
    assert found is not None
    assert found.tries == 3


def test_when_the_time_is_over_the_best_so_far_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    found = shortened(SCENARIO, lambda world: "acks", monkeypatch, now=lambda: next(ticks))
    assert found is not None
    assert found.tries == 4  # The clock was read once before them.


def test_what_does_not_fail_has_no_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shortened(SCENARIO, lambda world: "", monkeypatch) is None


@pytest.mark.parametrize("mutant", ["store.ack_not_logged", "queues.limit_of_a_quarter"])
def test_a_planted_bug_is_left_with_less_that_fails_alike_and_replays(
    mutant: str, planted: Planted
) -> None:
    scenario = planted(mutant)
    whole = run_world(World(scenario))
    found = shorten(scenario, 60, 1.0, lambda: 0.0)
    assert found is not None
    again = run_world(World(scenario, cut=parse(found.cut.words())))
    assert again.law == found.result.law == whole.law != ""
    assert again.trace_hash == found.result.trace_hash
    assert len(found.cut.clients_of(scenario)) == 1
    assert len(again.scenario.queues) < len(scenario.queues)
    assert sum(again.counts.values()) < sum(whole.counts.values())
    assert sum(again.faults.values()) <= sum(whole.faults.values())
