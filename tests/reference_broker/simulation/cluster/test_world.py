"""world: a seed is a run, and everything that can happen does."""

from __future__ import annotations

import pytest

from reference_broker.simulation.cluster.world import ClusterWorld

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = range(40)

FLOORS = {
    "-ok, another node awaited": 5_000,
    "views held": 4_000,
    "outcomes": 2_000,
    "conditions": 1_000,
    "fencing": 1_000,
    "serving": 150,
    "whole at the end": len(SEEDS),
    "answers lost": 100,
    "carried out late": 200,
    "in doubt": 100,
    "watches ended compacted": 5,
    "leases found gone": 40,
    "killed": 80,
    "paused": 80,
    "replaced": 15,
    "loops stood": 150,
    "vouching, a loop that stood": 80,
    "vouching, a loop that hangs": 200,
    "bytes stuck in a cut": 500,
    "declare: carried out": 400,
    "rename: carried out": 100,
    "bind: done": 400,
    "declare an exclusive queue: done": 100,
    "declare a queue: refused 406": 50,
    "put a user: not agreed": 10,
    "definitions at the end": 1_000,
    "deletions held": 1_000,
    "messages sent": 3_000,
    "messages confirmed": 2_000,
    "messages refused": 800,
    "messages delivered": 5_000,
    "messages redelivered": 300,
    "confirm, synced at home": 3_500,
    "durability held": 3_000,
    "order held": 3_500,
    "prefetch held": 3_000,
    "acks that have surely come": 3_000,
    "questions answered": 8_000,
    "liveness, questions that wait": 400,
    "liveness, publishes that wait": 8,
    "liveness, consumers with room": 1_000,
    "runs with alarms": 10,
    "publishers blocked": 20,
    "publishes in an alarm": 80,
    "small links": 10,
    "bodies in several frames": 800,
    "bodies above a consumer's octets": 500,
    "ghosts looked for": 4_000,
    "client connections": 1_000,
    "channel.close 404": 500,
    "consumers cancelled by the broker": 15,
}


def test_a_seed_is_a_run() -> None:
    first, second = ClusterWorld(3).run(), ClusterWorld(3).run()
    assert first == second
    assert first.counts != ClusterWorld(4).run().counts


def test_every_law_holds_and_is_looked_at() -> None:
    counts = ClusterWorld(0).run().counts
    counts.clear()
    for seed in SEEDS:
        result = ClusterWorld(seed).run()
        assert result.failure is None, f"seed {seed}: {result.failure}"
        counts += result.counts
    short = {name: counts[name] for name, floor in FLOORS.items() if counts[name] < floor}
    assert not short
