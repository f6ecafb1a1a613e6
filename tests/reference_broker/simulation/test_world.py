"""The laws of issue "main job", over seeds; and that a seed is enough to say what happens."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reference_broker.core.alarms import Alarm
from reference_broker.simulation.clients.features import FEATURES
from reference_broker.simulation.cut import Cut
from reference_broker.simulation.disk import inspection
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.plan.fault_profile import PROFILES, Fault
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import Tally, run_seed, run_seeds
from reference_broker.simulation.watch.calm import CALM_US
from reference_broker.simulation.watch.model import Fate
from reference_broker.simulation.world import LAST_MESSAGES, World

FAST_SEEDS = range(1_000, 1_010)
SLOW_SEEDS = (122, *range(142, 171))
"""Seeds in which each feature is at work twice or more; and, before them, one in which a file that
can't be read for a while is read."""

FAULT_FLOORS = {
    "clean stop": 8, "cut connection": 25, "disk error": 7, "failing close": 3, "failing copy": 10,
    "flipped bit": 1, "full disk": 8, "kill": 15, "power loss": 40, "power loss in recovery": 15,
    "set clock": 3, "stalled connection": 35, "too many open files": 3, "unreadable file": 1,
    "write without space": 10,
}  # fmt: skip
FATE_FLOORS = {
    "auto-acked": 3_000, "damaged": 1, "deleted": 50, "expired": 400, "maxlen": 30, "purged": 300,
    "settled": 7_000, "transient": 700,
}  # fmt: skip
EVENT_FLOORS = {
    "ack": 6_000, "active consumers cancelled alone": 5, "auto-ack": 3_000,
    "batches of the loop": 2_500, "batches of the thread": 8_000, "bodies in chunks": 50,
    "books": 500, "books of channels": 500, "calls of the system": 12_000, "calms": 30,
    "calms with an alarm on": 1, "confirmed": 12_000, "connections with exclusive queues closed": 2,
    "dead letters delivered": 500, "declared": 1_500, "definitions compared": 4_500, "delete": 20,
    "delivered": 14_000, "disk alarms": 2, "failed closes": 3, "failed reads": 1,
    "failed rewrites": 3, "late syncs of acks": 2_500, "memory alarms": 20,
    "messages in small chunks": 300, "messages paged": 150, "nacked": 10,
    "opens without a descriptor": 10, "purge": 30, "queues deleted right behind a read": 20,
    "queues purged right behind a read": 10, "queues seen to be gone": 40, "reads": 4_000,
    "reads for a queue that was deleted": 4, "reads of a file that was gone": 8,
    "reads of messages that are gone": 8, "reads that a basic.get waits for": 40,
    "reads that were tried again": 1, "rebuilds from footers": 240, "rebuilds from records": 210,
    "redelivered": 5_000, "reject": 700, "requeue": 500, "rests": 90, "rewrites": 1_000,
    "runs through the data folder": 4, "runs with a limit of the free space": 4,
    "runs with copies made at once": 4, "runs with copies made by step": 4,
    "runs with copies made slowly": 3, "runs with small chunks": 1, "runs with small portions": 5,
    "runs with syncs by chance": 1, "runs with syncs by the thread": 1,
    "runs with syncs measured": 1, "segments merged": 200, "sessions": 600,
    "settlements over several consumers": 10, "short reads": 300, "short writes": 300,
    "spares missing": 4, "starts": 120, "tries of a full disk": 3, "turns of work left over": 5_000,
    "unreadable": 1, "uses of a locked queue": 30, "uses of queues that expire": 80,
}  # fmt: skip
FEATURE_FLOORS = {
    "consumers": 60, "definitions": 40, "delayed": 100, "exclusive": 80, "expires": 30,
    "large": 60, "policies": 150, "quorum": 200, "removals": 200, "requeues": 100,
    "transactions": 300, "vhosts": 80, "windows": 100,
}  # fmt: skip
"""Messages of each feature."""
PROFILE_FLOORS = {
    "profile: clients fail": 3, "profile: copies fail": 2, "profile: half written": 1,
    "profile: mixed": 10, "profile: slow disk": 2, "profile: stops in turn": 1,
}  # fmt: skip
ALL_FLOORS = (PROFILE_FLOORS, FAULT_FLOORS, FATE_FLOORS, EVENT_FLOORS, FEATURE_FLOORS)

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulation_floors.md"


def assert_above_floors(tally: Tally) -> None:
    """A run in which nothing happened would be green too."""
    messages = {name: tally.counts[f"{name} messages"] for name in FEATURES}
    seen = (tally.faults, tally.faults, tally.gone, tally.counts, messages)
    low = {
        name: count[name]
        for floors, count in zip(ALL_FLOORS, seen, strict=True)
        for name, floor in floors.items()
        if count[name] < floor
    }
    assert not low


def test_every_feature_fault_and_fate_has_a_floor() -> None:
    assert FEATURE_FLOORS.keys() == FEATURES.keys()
    assert FAULT_FLOORS.keys() == {*(fault.value for fault in Fault), "power loss in recovery"}
    assert PROFILE_FLOORS.keys() == {f"profile: {profile.name}" for profile in PROFILES}
    assert FATE_FLOORS.keys() == {fate.value for fate in Fate}
    assert all(floor > 0 for floors in ALL_FLOORS for floor in floors.values())


@pytest.mark.parametrize(
    "floors", ALL_FLOORS, ids=["profiles", "faults", "fates", "events", "features"]
)
def test_the_document_lists_the_floors(floors: dict[str, int]) -> None:
    listed = ", ".join(f"{floor} {name}" for name, floor in floors.items())
    assert listed in " ".join(DOCUMENT.read_text().split())


def test_every_law_holds_over_10_seeds() -> None:
    tally = run_seeds(FAST_SEEDS)
    assert not tally.failures, tally.summary()
    assert tally.lost == 0
    assert tally.counts["confirmed"] > 100 * tally.seeds


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_confirmed_message_is_lost_over_30_seeds() -> None:
    tally = run_seeds(SLOW_SEEDS)
    print(tally.summary())
    assert not tally.failures, tally.summary()
    assert (tally.seeds, tally.lost) == (30, 0)
    assert tally.virtual_us >= 30 * 60_000_000
    assert_above_floors(tally)


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


@pytest.mark.parametrize("before_the_end_us", [300_000, 1_500_000, 10_000_000, 12_000_000])
def test_what_an_alarm_of_the_calm_held_back_is_judged_when_it_had_its_time(
    before_the_end_us: int,
) -> None:
    world = _with_ttls(draw(9173, 5_000_000))

    def node() -> Node:
        assert world.machine.node is not None
        return world.machine.node

    def end_alarm() -> None:
        node().broker.begin(*node().now())
        node().broker.alarms.release(Alarm.MEMORY)
        node().input_handled()
        ended.append(world.clock.now_us)

    ended: list[int] = []
    world.clock.after(1_000_000, lambda: node().broker.alarms.hold(Alarm.MEMORY))
    world.clock.after(5_000_000 + CALM_US - before_the_end_us, end_alarm)
    world.run()
    assert ended
    assert world.history.counts["published"] > 100


def _with_ttls(scenario: Scenario) -> World:
    """Nothing fails there, and clients' own queues have a TTL."""
    queues = tuple(
        replace(queue, ttl_ms=4_700) if queue.owner is not None else queue
        for queue in scenario.queues
    )
    return World(replace(scenario, queues=queues), cut=Cut(features=(), strikes=()))
