"""Results of seeds: a broken law and a traceback are failures, and each can be replayed."""

from __future__ import annotations

import pytest

from reference_broker.simulation.cut import Cut
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.report import Tally, run_in_parallel, run_seed, run_seeds
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World

DURATION_US = 2_000_000


def short(seed: int) -> World:
    return World(draw(seed, DURATION_US))


def failing(error: Exception) -> type[World]:
    class Failing(World):
        def run(self) -> None:
            raise error

    return Failing


def test_a_seed_that_holds_every_law_is_ok() -> None:
    result = run_seed(1, short)
    assert (result.failure, result.lost) == ("", 0)
    assert result.replay == "python -m reference_broker.simulation --seed 1"
    assert result.summary().splitlines()[0] == "seed      1"
    assert result.summary().splitlines()[-1] == "ok        every law held"


def test_a_cut_is_part_of_the_line_that_replays_it() -> None:
    result = run_seed(1, lambda seed: World(draw(seed, DURATION_US), cut=Cut(clients=(0,))))
    assert result.replay == 'python -m reference_broker.simulation --seed 1 --cut "clients=0"'
    assert "scenario  1 clients; " in result.summary()


def test_a_broken_law_is_the_failure_with_its_lost_messages() -> None:
    world = failing(Violation("acks", "it is back", lost=2))
    result = run_seed(1, lambda seed: world(draw(seed, DURATION_US)))
    assert (result.failure, result.lost) == ("acks: it is back", 2)
    assert result.summary().endswith("FAILED    acks: it is back")


def test_an_error_of_the_broker_is_a_failure_too() -> None:
    world = failing(KeyError("q"))
    result = run_seed(1, lambda seed: world(draw(seed, DURATION_US)))
    assert result.failure.startswith("Traceback")
    assert result.failure.strip().endswith("KeyError: 'q'")


def test_a_tally_adds_up_and_shows_how_to_replay_what_failed() -> None:
    tally = run_seeds([1, 2], short)
    world = failing(KeyError("q"))
    tally.add(run_seed(3, lambda seed: world(draw(seed, DURATION_US))))
    assert (tally.seeds, [each.scenario.seed for each in tally.failures]) == (3, [3])
    lines = tally.summary().splitlines()
    assert lines[0] == "seeds          3, 1 failed"
    assert lines[-2:] == [
        "FAILED  seed 3: KeyError: 'q'",
        "  python -m reference_broker.simulation --seed 3",
    ]
    assert f"confirmed      {tally.counts['confirmed']}" in lines


@pytest.mark.slow
def test_results_come_in_the_order_of_seeds_whatever_the_processes() -> None:
    one, two = Tally(), Tally()
    for result in run_in_parallel([8, 1], 1):  # the first one takes longer
        one.add(result)
    for result in run_in_parallel([8, 1], 2):
        two.add(result)
    assert one.summary() == two.summary()
