"""The scenarios in which mutants are looked for: small ones, as drawn or tilted to what a bug
needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reference_broker.simulation.plan.fault_profile import Fault, FaultProfile
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import (
    draw,
    with_chunks,
    with_features,
    with_portions,
    with_runs,
    with_system,
    with_turns,
)

DURATION_US = 20_000_000
"""Microseconds of virtual time with faults: a third of what the simulator's command plays, for
most bugs show early."""

Worlds = Callable[[int], Scenario]
"""The scenario of each seed."""


def small(seed: int) -> Scenario:
    """Nothing but short."""
    return draw(seed, DURATION_US)


def running(seed: int) -> Scenario:
    """Every client publishes and acks in runs, and otherwise too."""
    return with_runs(small(seed), (0.5,))


def in_portions(seed: int) -> Scenario:
    """A turn of the broker has few units."""
    return with_turns(small(seed), (1, 2, 5))


def through_the_folder(seed: int) -> Scenario:
    """The broker has its disk through the runtime's data folder."""
    return with_system(small(seed), 1.0)


def with_a_bit_flipped(seed: int) -> Scenario:
    return replace(small(seed), bit_rot=True)


def with_many_requeues(seed: int) -> Scenario:
    """Clients give much back, faults come often, and nothing else is at work."""
    scenario = with_features(replace(small(seed), bit_rot=False, reads_fail=False), ())
    clients = tuple(replace(each, requeue_chance=0.4) for each in scenario.clients)
    return replace(scenario, clients=clients, fault_pause_us=(400_000, 3_000_000))


def with_faults(weights: Mapping[Fault, int], worlds: Worlds = small) -> Worlds:
    """No other faults than these strike, as often as they weigh."""
    profile = FaultProfile("of a mutant", weights)
    return lambda seed: replace(worlds(seed), faults=profile)


def where_the_clock_is_set(seed: int) -> Scenario:
    """Somebody sets the clock of the broker's machine."""
    return replace(small(seed), clock_is_set=True)


def in_small_chunks(seed: int) -> Scenario:
    """Most bodies stand in the log in several chunks, and no other feature is at work."""
    return with_chunks(with_features(small(seed), ()), 1.0)


def in_small_portions(seed: int) -> Scenario:
    """Sockets are written and read in small portions."""
    return with_portions(small(seed), 1.0)


def where_reads_fail(seed: int) -> Scenario:
    """A file can't be read for a while, and no bit is flipped."""
    return replace(with_features(replace(small(seed), bit_rot=False), ()), reads_fail=True)


def paging(seed: int) -> Scenario:
    """Memory is short, and nothing is lost by itself: so it is known what the end must have."""
    scenario = small(seed)
    return replace(
        scenario,
        broker=replace(scenario.broker, memory_bytes=50_000),
        clients=tuple(replace(client, transient_chance=0.9) for client in scenario.clients),
        fault_pause_us=(10 * DURATION_US, 10 * DURATION_US),
    )


def with_feature(name: str) -> Worlds:
    """One feature is at work, and no bit is flipped."""

    def featured(seed: int) -> Scenario:
        return with_features(replace(small(seed), bit_rot=False), [name])

    return featured
