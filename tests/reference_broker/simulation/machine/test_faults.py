from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.disk.inspection import Found
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot
from reference_broker.simulation.machine.faults import CLOCK_WRONG_MS, UNREADABLE_US, FaultInjector
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.plan.fault_profile import (
    MIXED,
    OF_A_SYSTEM,
    PROFILES,
    SLOW_SYNC_CHANCE,
    Fault,
    FaultProfile,
    with_calls,
)
from reference_broker.simulation.plan.plans import BrokerPlan

PAUSE_US = (100_000, 200_000)


class Unwatched:
    def started(self, node: Node, found: Found) -> None: ...

    def ended(self, node: Node) -> None: ...

    def stopped_cleanly(self, node: Node) -> None: ...


class Rig:
    def __init__(
        self,
        profile: FaultProfile = MIXED,
        only: tuple[int, ...] | None = None,
        *,
        reads_again: bool = False,
        sets_clock: bool = False,
    ) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        self.machine = Machine(
            self.clock,
            Random(1),
            self.disk,
            BrokerPlan(4_096),
            Unwatched(),
            lambda link, data: None,
        )
        self.rots: list[BitRot] = []
        self.faults = FaultInjector(
            self.clock,
            Random(2),
            self.machine,
            PAUSE_US,
            self.rots.append,
            profile,
            only,
            reads_again=reads_again,
            sets_clock=sets_clock,
        )

    def connect_often(self) -> None:
        self.machine.connect(lambda data, sent: None, lambda: None)
        self.clock.after(50_000, self.connect_often)


@pytest.mark.parametrize("profile", PROFILES, ids=[profile.name for profile in PROFILES])
def test_every_kind_of_fault_of_a_profile_strikes_sooner_or_later(profile: FaultProfile) -> None:
    rig = Rig(profile)
    rig.machine.start()
    rig.connect_often()
    rig.faults.begin()
    rig.clock.run(60_000_000)
    struck = rig.faults.counts.keys() - {Fault.BIT_ROT.value}
    assert struck == {fault.value for fault in profile.weights}
    assert rig.disk.slow_sync_chance == profile.slow_sync_chance
    rig.faults.stop()
    assert rig.disk.slow_sync_chance == SLOW_SYNC_CHANCE


def test_all_kinds_are_in_some_profile() -> None:
    struck = {kind for profile in PROFILES for kind in profile.weights}
    apart = {Fault.BIT_ROT, Fault.READ_ERROR, Fault.CLOCK_SET, *OF_A_SYSTEM}
    assert struck == set(Fault) - apart
    assert with_calls(MIXED).weights == {**MIXED.weights, **OF_A_SYSTEM}
    assert len({profile.name for profile in PROFILES}) == len(PROFILES)


def test_one_bit_is_flipped_and_told_of() -> None:
    rig = Rig()
    rig.machine.start()
    rig.faults.begin()
    rig.clock.run(60_000_000)
    (rot,) = rig.rots
    assert rig.faults.counts[Fault.BIT_ROT.value] == 1
    assert rot.file.endswith(".segment")


def test_a_file_is_unreadable_for_a_while_in_place_of_that() -> None:
    rig = Rig(reads_again=True)
    rig.machine.start()
    rig.faults.begin()
    assert rig.clock.run(60_000_000, lambda: bool(rig.disk.unreadable))
    (rot,) = rig.rots
    assert rig.disk.unreadable == rot.file
    assert rig.faults.counts[Fault.READ_ERROR.value] == 1
    rig.clock.run(rig.clock.now_us + UNREADABLE_US[1])
    assert not rig.disk.unreadable
    rig.clock.run(60_000_000)
    assert len(rig.rots) == 1
    assert not rig.faults.counts[Fault.BIT_ROT.value]


def test_no_bit_is_flipped_where_nobody_is_told() -> None:
    rig = Rig()
    faults = FaultInjector(rig.clock, Random(2), rig.machine, PAUSE_US)
    rig.machine.start()
    faults.begin()
    rig.clock.run(60_000_000)
    assert not faults.counts[Fault.BIT_ROT.value]


def test_after_stop_nothing_strikes_and_the_disk_has_room() -> None:
    rig = Rig()
    rig.machine.start()
    rig.faults.begin()
    rig.clock.run(10_000_000)
    rig.disk.full = True
    rig.disk.unreadable = "a"
    rig.faults.stop()
    counts = rig.faults.counts.copy()
    rig.clock.run(20_000_000)
    assert rig.faults.counts == counts
    assert not rig.disk.full
    assert not rig.disk.unreadable
    assert rig.machine.node is not None


def test_those_that_are_left_strike_as_they_did() -> None:
    """That is so as long as nothing that is drawn depends on the others."""
    whole = Rig()
    whole.machine.start()
    whole.faults.begin()
    whole.clock.run(20_000_000)
    assert [strike.number for strike in whole.faults.struck] == [
        *range(1, len(whole.faults.struck) + 1)
    ]
    cut = Rig(only=(3, 5))
    cut.machine.start()
    cut.faults.begin()
    cut.clock.run(20_000_000)
    assert cut.faults.struck == [whole.faults.struck[2], whole.faults.struck[4]]
    assert sum(cut.faults.counts.values()) == 2


def test_no_bit_is_flipped_by_a_strike_that_is_left_out() -> None:
    rig = Rig(only=())
    rig.machine.start()
    rig.faults.begin()
    rig.clock.run(60_000_000)
    assert (rig.rots, rig.faults.struck) == ([], [])


def test_the_machine_s_clock_is_set_where_that_is_asked_for() -> None:
    for sets_clock in (False, True):
        rig = Rig(sets_clock=sets_clock)
        rig.faults.begin()
        rig.clock.run(20_000_000)
        assert (rig.faults.counts[Fault.CLOCK_SET.value] > 10) == sets_clock
        assert (rig.clock.off_ms(1_000, in_one_life=False) > 0) == sets_clock
        wrong_ms = rig.clock.system_us() // 1_000 - rig.clock.wall_ms()
        assert CLOCK_WRONG_MS[0] <= wrong_ms <= CLOCK_WRONG_MS[1]
