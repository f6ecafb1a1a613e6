"""Every single fault there can be on a small workload: the power fails after each operation of the
disk, in each way that it may, and each operation fails, one at a time.

The workload has a clean stop and a kill in it, so the operations of two recoveries are among them.
"""

from __future__ import annotations

import errno
from collections import Counter
from random import Random

import pytest

from reference_broker.simulation.disk.medium import Crash
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
from reference_broker.store import Operation
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Sync, SyncDirectory, Write

SEED = 3
STOP_US = 500_000
KILL_US = 1_200_000
DURATION_US = 1_500_000

TORN_AT = (1, 30, 200)
"""Bytes of the last write that are kept: a part of a frame, of a head, of a message."""


def workload() -> Scenario:
    """One client that publishes, acks, rejects and requeues, with segments that fill quickly."""
    queues = (
        QueuePlan("plain", in_fanout=True),
        QueuePlan("dead"),
        QueuePlan("mine", owner=0, dead_letters_to="dead", in_fanout=True, ttl_ms=400),
    )
    consumes = (Consume("plain"), Consume("mine", alone=True), Consume("dead"))
    client = ClientPlan(
        index=0,
        channels=(ChannelPlan(prefetch=5, consumes=consumes),),
        pause_us=(12_000, 45_000),
        publish_chance=0.5,
        batch_max=3,
        requeue_chance=0.15,
        reject_chance=0.2,
    )
    return Scenario(
        seed=SEED,
        queues=queues,
        clients=(client,),
        broker=BrokerPlan(segment_bytes=5_120, window_bytes=1_200),
        fault_pause_us=(10 * DURATION_US, 10 * DURATION_US),
        duration_us=DURATION_US,
    )


class FaultyDisk(PoweredDisk):
    """The power fails after the operation ``crash_after``, in the way that is said."""

    def __init__(self, crash_after: int = 0, how: Crash | None = None, torn_at: int = 0) -> None:
        super().__init__(Random(SEED))
        self.crash_after = crash_after
        self.how = how
        self.torn_at = torn_at
        self.world: World | None = None
        self.kinds: Counter[type] = Counter()
        self.crashes = 0

    def perform(self, operation: Operation) -> None:
        super().perform(operation)
        self.kinds[type(operation)] += 1
        if self.operations == self.crash_after:
            world = self.world
            assert world is not None
            if world.machine.node is None:
                self.cut_power_at(1)  # In a recovery, or in a stop: nothing else comes in between.
            else:
                world.clock.after(0, world.machine.lose_power)

    def crash(self, how: Crash = Crash.DROP, torn_at: int = 0) -> None:
        if self.how is not None and self.operations >= self.crash_after:
            how, torn_at, self.how = self.how, self.torn_at, None
            self.crashes += 1
        super().crash(how, torn_at)


def make_world(disk: FaultyDisk) -> World:
    world = World(workload(), disk)
    disk.world = world
    world.machine.recoveries_cut_short = False
    world.clock.after(STOP_US, lambda: _stop(world))
    world.clock.after(KILL_US, world.machine.kill)
    return world


def _stop(world: World) -> None:
    world.machine.stop()


def run(disk: FaultyDisk) -> World:
    """Raises what is wrong, if anything is."""
    world = make_world(disk)
    world.run()
    return world


def count_operations() -> int:
    """Until the clients are gone; what the last phase does is not counted."""
    disk = FaultyDisk()
    world = make_world(disk)
    world.machine.start()
    world.actors[0].begin()
    world.clock.run(DURATION_US)
    return disk.operations


OPERATIONS = range(1, count_operations() + 1)


def test_the_workload_has_everything_in_it() -> None:
    disk = FaultyDisk()
    world = run(disk)
    print(len(OPERATIONS), disk.kinds, world.history.counts, world.durability.gone)
    assert 80 <= len(OPERATIONS) <= 120
    assert disk.kinds[CreateFile] > 7
    assert disk.kinds[DeleteFile] > 4
    assert min(disk.kinds[kind] for kind in (Write, Sync, SyncDirectory)) > 10
    for event in (
        "confirmed", "ack", "reject", "requeue", "dead letters delivered", "reads", "rewrites",
    ):  # fmt: skip
        assert world.history.counts[event] > 1, event


@pytest.mark.slow
@pytest.mark.parametrize("how", [Crash.DROP, Crash.KEEP, Crash.SUBSET], ids=str)
def test_the_power_fails_after_each_operation(how: Crash) -> None:
    for operation in OPERATIONS:
        disk = FaultyDisk(operation, how)
        run_or_say(disk, f"{how} after operation {operation}")
        assert disk.crashes == 1


@pytest.mark.slow
@pytest.mark.parametrize("torn_at", TORN_AT)
def test_the_last_write_is_torn_at_each_operation(torn_at: int) -> None:
    for operation in OPERATIONS:
        disk = FaultyDisk(operation, Crash.TEAR_LAST, torn_at)
        run_or_say(disk, f"torn at {torn_at} after operation {operation}")
        assert disk.crashes == 1


@pytest.mark.slow
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.__getitem__)
def test_each_operation_fails(error: int) -> None:
    for operation in OPERATIONS:
        disk = FaultyDisk()
        disk.fail_at(operation, error)
        run_or_say(disk, f"{errno.errorcode[error]} in operation {operation}")


def test_a_few_of_each() -> None:
    """For every day: each way at every twentieth operation."""
    for operation in OPERATIONS[:: len(OPERATIONS) // 10]:
        for how in Crash:
            run_or_say(FaultyDisk(operation, how, 30), f"{how} after operation {operation}")
        for error in (errno.EIO, errno.ENOSPC):
            disk = FaultyDisk()
            disk.fail_at(operation, error)
            run_or_say(disk, f"{errno.errorcode[error]} in operation {operation}")


def run_or_say(disk: FaultyDisk, fault: str) -> None:
    try:
        run(disk)
    except Exception as error:
        error.add_note(fault)
        raise
