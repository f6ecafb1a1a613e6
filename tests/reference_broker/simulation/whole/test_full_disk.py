"""A disk that is full for good: what is on it has to make the room, by being acked."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.plan.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    Consume,
    QueuePlan,
    Scenario,
)
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


@pytest.mark.parametrize("seed", [7, 9, 10, 13])
def test_acks_make_room_and_publishing_goes_on(seed: int) -> None:
    counts = full_for_good(seed).history.counts
    print(counts)
    assert counts["spares missing"] > 0
    assert not counts["full logs"]
    assert counts["confirmed"] > 300


@pytest.mark.parametrize("seed", [1, 22, 25, 32])
def test_what_is_dead_makes_room_before_the_next_segment_is_created(seed: int) -> None:
    full_for_good(seed)


@pytest.mark.parametrize("seed", [2, 3, 13, 19, 33])
def test_a_full_disk_does_not_prevent_a_start(seed: int) -> None:
    full_for_good(seed)


@pytest.mark.parametrize("seed", [0, 5, 12, 29])
def test_a_message_larger_than_a_segment_waits_and_acks_make_room_for_it(seed: int) -> None:
    assert not full_for_good(seed).history.counts["full logs"]
