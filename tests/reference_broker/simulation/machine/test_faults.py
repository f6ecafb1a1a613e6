from __future__ import annotations

from random import Random

from reference_broker.simulation.disk.inspection import Found
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot
from reference_broker.simulation.machine.faults import UNREADABLE_US, Fault, FaultInjector
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.plan.plans import BrokerPlan

PAUSE_US = (100_000, 200_000)


class Unwatched:
    def started(self, node: Node, found: Found) -> None: ...

    def ended(self, node: Node) -> None: ...

    def stopped_cleanly(self, node: Node) -> None: ...


class Rig:
    def __init__(self, *, reads_again: bool = False) -> None:
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
            reads_again=reads_again,
        )

    def connect_often(self) -> None:
        self.machine.connect(lambda data, sent: None, lambda: None)
        self.clock.after(50_000, self.connect_often)


def test_every_kind_of_fault_strikes_sooner_or_later() -> None:
    rig = Rig()
    rig.machine.start()
    rig.connect_often()
    rig.faults.begin()
    rig.clock.run(60_000_000)
    expected = {fault.value for fault in Fault if fault is not Fault.READ_ERROR}
    assert rig.faults.counts.keys() == expected


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
