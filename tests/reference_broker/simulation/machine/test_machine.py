from __future__ import annotations

from random import Random

import pytest

from mqkit.wire import PROTOCOL_HEADER
from reference_broker.simulation.disk.inspection import Found
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.machine import RESTART_US, Machine
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.plan.plans import BrokerPlan
from reference_broker.store.disk.ports import CreateFile

A_WHILE_US = 2 * RESTART_US[1]


class Rig:
    def __init__(self, seed: int = 0) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk(Random(seed))
        self.starts: list[Found] = []
        self.lives: list[str] = []
        self.said: list[int] = []
        plan = BrokerPlan(4_096)
        self.machine = Machine(self.clock, Random(seed), self.disk, plan, self, self._broker_sent)
        self.machine.recoveries_cut_short = False
        self.received = b""
        self.ends = 0

    def started(self, node: Node, found: Found) -> None:
        self.starts.append(found)

    def ended(self, node: Node) -> None:
        self.lives.append("ended")

    def stopped_cleanly(self, node: Node) -> None:
        self.lives.append("stopped")

    def _broker_sent(self, link: Link, data: bytes) -> None:
        self.said.append(link.number)

    def _received(self, data: bytes, sent: int) -> None:
        self.received += data

    def _ended(self) -> None:
        self.ends += 1

    def connect(self) -> Link | None:
        return self.machine.connect(self._received, self._ended)

    def run(self) -> None:
        self.clock.run(self.clock.now_us + A_WHILE_US)


def test_a_client_talks_to_the_broker_that_runs() -> None:
    rig = Rig()
    assert rig.connect() is None
    rig.machine.start()
    link = rig.connect()
    assert link is not None
    link.to_broker.send(PROTOCOL_HEADER)
    rig.run()
    assert b"PLAIN" in rig.received
    assert rig.said == [link.number]


@pytest.mark.parametrize("end", ["kill", "lose_power", "stop"])
def test_after_any_end_clients_lose_their_links_and_the_next_process_starts(end: str) -> None:
    rig = Rig()
    rig.machine.start()
    rig.connect()
    first = rig.machine.node
    assert first is not None
    getattr(rig.machine, end)()
    assert rig.machine.node is None
    assert rig.connect() is None
    rig.run()
    assert rig.ends == 1
    assert rig.machine.node is not None
    assert rig.machine.node.broker.journal.epoch == first.broker.journal.epoch + 1
    assert len(rig.starts) == 2
    assert rig.lives == (["stopped", "ended"] if end == "stop" else ["ended"])


def test_a_disk_error_ends_the_process() -> None:
    rig = Rig()
    rig.machine.start()
    first = rig.machine.node
    assert first is not None
    first.broker.journal.define("key", b"value")
    rig.disk.fail_at(1)
    first.retry_disk()
    rig.run()
    assert rig.machine.node is not first
    assert rig.machine.node is not None


@pytest.mark.parametrize("seed", range(5))
def test_power_may_fail_while_the_broker_starts(seed: int) -> None:
    rig = Rig(seed)
    rig.machine.start()
    for _ in range(10):
        rig.machine.recoveries_cut_short = True
        rig.machine.lose_power()
        rig.run()
        rig.machine.recoveries_cut_short = False
        rig.run()
        assert rig.machine.node is not None


def test_a_start_on_a_full_disk_is_tried_again() -> None:
    rig = Rig()
    rig.disk.full = True
    rig.machine.start()
    assert rig.machine.node is None
    rig.disk.full = False
    rig.run()
    assert rig.machine.node is not None


def test_a_clean_stop_depends_on_no_cache() -> None:
    rig = Rig()
    rig.machine.start()
    assert rig.machine.stop()
    before = list(rig.disk.list_files())
    rig.disk.crash(Crash.DROP)
    assert list(rig.disk.list_files()) == before
    assert not rig.machine.stop()


def test_power_may_fail_while_the_broker_stops() -> None:
    rig = Rig()
    rig.machine.start()
    rig.disk.cut_power_at(1)
    assert not rig.machine.stop()
    assert rig.lives == ["ended"]
    rig.disk.keep_power()
    rig.run()
    assert rig.machine.node is not None


def test_it_may_be_said_how_the_power_fails() -> None:
    rig = Rig()
    rig.machine.start()
    rig.disk.perform(CreateFile("unsynced", 10))
    rig.machine.lose_power(Crash.KEEP)
    assert "unsynced" in rig.disk.list_files()
    rig.disk.perform(CreateFile("another", 10))
    rig.machine.lose_power(Crash.DROP)
    assert "another" not in rig.disk.list_files()
