"""The laws of issue "main job", over seeds; and that a seed is enough to say what happens."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from reference_broker.simulation.cut import Cut
from reference_broker.simulation.disk import inspection
from reference_broker.simulation.plan.fault_profile import Fault
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import Tally, run_seed, run_seeds
from reference_broker.simulation.watch.model import Fate
from reference_broker.simulation.world import LAST_MESSAGES, World

FAST_SEEDS = range(1_000, 1_010)
SLOW_SEEDS = range(25)


def assert_meaningful(tally: Tally) -> None:
    """A run in which nothing happened would be green too."""
    for fault in Fault:
        assert tally.faults[fault.value] > 0, fault
    for fate in Fate:
        assert tally.gone[fate.value] > 0, fate
    for event in (
        "confirmed", "nacked", "redelivered", "ack", "requeue", "reject", "auto-ack",
        "purge", "delete", "dead letters delivered", "rebuilds from footers",
        "rebuilds from records", "rests", "reads", "reads of a file that was gone", "rewrites",
        "segments merged", "failed rewrites", "messages paged", "memory alarms", "spares missing",
        "unreadable",
    ):  # fmt: skip
        assert tally.counts[event] > 0, event
    assert tally.counts["confirmed"] > 100 * tally.seeds


def test_every_law_holds_over_10_seeds() -> None:
    tally = run_seeds(FAST_SEEDS)
    assert not tally.failures, tally.summary()
    assert tally.lost == 0
    assert tally.counts["confirmed"] > 100 * tally.seeds


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_confirmed_message_is_lost_over_25_seeds() -> None:
    tally = run_seeds(SLOW_SEEDS)
    print(tally.summary())
    assert not tally.failures, tally.summary()
    assert (tally.seeds, tally.lost) == (25, 0)
    assert tally.virtual_us >= 25 * 60_000_000
    assert_meaningful(tally)


def test_the_same_seed_gives_the_same_trace_whatever_the_hash_seed() -> None:
    outputs = []
    for hash_seed in ("0", "1", "random"):
        done = subprocess.run(
            [sys.executable, "-m", "reference_broker.simulation", "--seed", "5"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert "trace" in outputs[0]
    assert outputs[0] == outputs[1] == outputs[2]


def test_another_seed_gives_another_trace() -> None:
    hashes = {run_seed(seed, _short).trace_hash for seed in range(5)}
    assert len(hashes) == 5


@pytest.mark.parametrize("seed", range(3))
def test_the_last_phase_leaves_nothing_behind_but_its_last_messages(seed: int) -> None:
    world = _short(seed)
    world.run()
    node = world.machine.node
    assert node is not None
    queues = inspection.queues_of(node.broker)
    left = {
        number
        for queue in queues
        for number in inspection.ready_numbers(queue, node.log, world.disk)
    }
    published = world.history.counts["published"]
    assert left <= set(range(published - LAST_MESSAGES + 1, published + 1))


def _short(seed: int) -> World:
    return World(draw(seed, 3_000_000))


def test_a_cut_world_has_what_the_cut_leaves_and_the_rest_of_it_is_as_it_was() -> None:
    scenario = draw(2, 5_000_000)
    world = World(scenario, cut=Cut(clients=(1,), features=(), strikes=(), actions=10))
    world.run()
    assert [actor.name for actor in world.actors] == ["client 1", "client 2"]
    assert (world.features, world.faults.struck) == ([], [])
    assert world.actors[0].actions == 10
    assert world.scenario == with_features(scenario, [])


def test_a_cut_that_leaves_everything_is_the_same_run() -> None:
    scenario = draw(3, 5_000_000)
    whole, cut = World(scenario), World(scenario, cut=Cut(duration_us=5_000_000, actions=9_999))
    whole.run()
    cut.run()
    assert cut.history.trace_hash == whole.history.trace_hash
