"""A disk that is full for good: what is on it has to make the room, by being acked."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.checkers import Violation
from reference_broker.simulation.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    Consume,
    QueuePlan,
    Scenario,
)
from reference_broker.simulation.power import PoweredDisk
from reference_broker.simulation.world import World

SEGMENT_BYTES = 65_536
DURATION_US = 60_000_000
NEVER_US = (10 * DURATION_US, 10 * DURATION_US)


def scenario(seed: int) -> Scenario:
    """Somebody publishes, as fast as he may; another takes what comes, more slowly."""
    publisher = ClientPlan(
        index=0,
        channels=(ChannelPlan(prefetch=0),),
        pause_us=(20_000, 60_000),
        publish_chance=1.0,
        batch_max=3,
    )
    consumer = ClientPlan(
        index=1,
        channels=(ChannelPlan(prefetch=20, consumes=(Consume("q"),)),),
        pause_us=(60_000, 150_000),
    )
    broker = BrokerPlan(SEGMENT_BYTES, window_bytes=4_000)
    return Scenario(seed, (QueuePlan("q"),), (publisher, consumer), broker, NEVER_US, DURATION_US)


def full_for_good(seed: int) -> World:
    disk = PoweredDisk(Random(seed), capacity_bytes=8 * SEGMENT_BYTES)
    world = World(scenario(seed), disk)
    world.run()
    return world


@pytest.mark.parametrize("seed", [3, 4, 6, 10])
def test_acks_make_room_and_publishing_goes_on(seed: int) -> None:
    counts = full_for_good(seed).history.counts
    print(counts)
    assert counts["spares missing"] > 0
    assert counts["full logs"] > 0
    assert counts["confirmed"] > 300


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.xfail(
    reason="dead segments are deleted by the next batch, and this one waits for room",
    raises=Violation,
    strict=True,
)
def test_acks_make_room_for_a_batch_of_many_segments(seed: int) -> None:
    full_for_good(seed)


@pytest.mark.parametrize("seed", [2])
@pytest.mark.xfail(
    reason="a start needs room for a new segment of the full size, and nothing keeps it free",
    raises=Violation,
    strict=True,
)
def test_a_full_disk_does_not_prevent_a_start(seed: int) -> None:
    full_for_good(seed)
