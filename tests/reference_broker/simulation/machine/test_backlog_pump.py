from __future__ import annotations

from random import Random

from mqkit.wire import PERSISTENT, Properties
from mqkit.wire.methods import BasicConsume, QueueDeclare
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.journal import Fetched
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.backlog_pump import PAGE_RETRY_US, BacklogPump
from reference_broker.simulation.machine.disk_pump import DiskPump
from reference_broker.store import open_log
from reference_broker.store.disk.ports import DeleteFile
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

SEGMENT_BYTES = 4_096
A_WHILE_US = 5_000_000


class Rig:
    """A broker that keeps one message of a queue in memory, and what reads the others."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        self.log, _ = open_log(self.disk, segment_bytes=SEGMENT_BYTES)
        self.lone = LoneBroker(self.log, window=MemoryWindow(600))
        self.disk_pump = DiskPump(self.clock, Random(1), self.log, self.disk, self)
        self.pump = BacklogPump(self.clock, Random(2), self.log, self.disk, self)
        self.client: LoneClient = self.lone.client()
        self.answers = 0

    def declare(self, *, durable: bool = True) -> None:
        self.client.send(1, QueueDeclare("q", durable=durable))
        self.run()
        self.client.received()

    def publish(self, *bodies: bytes, persistent: bool = True) -> None:
        header = Properties(delivery_mode=PERSISTENT if persistent else None)
        for body in bodies:
            self.client.publish("q", body, properties=header)
        self.run()

    def run(self, duration_us: int = A_WHILE_US) -> None:
        self.disk_pump.kick()
        self.pump.kick()
        self.clock.run(self.clock.now_us + duration_us)

    def bodies(self) -> list[bytes]:
        return [received.body for received in self.client.received() if received.header]

    def synced(self, position: int) -> None:
        self.lone.broker.synced(position, self.lone.now_s, self.lone.wall_ms)
        self.pump.kick()

    def fetched(self, answers: list[Fetched]) -> None:
        self.answers += 1
        self.lone.broker.fetched(answers, self.lone.now_s, self.lone.wall_ms)
        self.pump.kick()

    def spare_made(self) -> None: ...

    def disk_full(self) -> None: ...

    def disk_failed(self) -> None: ...


BODIES = [b"%d" % number for number in range(5)]


def test_what_is_not_in_memory_is_read_when_somebody_wants_it() -> None:
    rig = Rig()
    rig.declare()
    rig.publish(*BODIES)
    rig.client.send(1, BasicConsume(queue="q", no_ack=True))
    got = rig.bodies()
    assert len(got) < 5, "reading takes time"
    rig.run()
    assert got + rig.bodies() == BODIES
    assert rig.pump.counts["reads"] == rig.answers > 0


def test_a_file_that_is_gone_meanwhile_is_no_matter() -> None:
    rig = Rig()
    rig.declare()
    rig.publish(*BODIES)
    rig.client.send(1, BasicConsume(queue="q", no_ack=True))
    got = rig.bodies()
    rig.pump.kick()
    (file,) = (file for file in rig.disk.list_files() if file != "spare")
    rig.disk.perform(DeleteFile(file))
    rig.run()
    assert rig.pump.counts["reads of a file that was gone"] > 0
    assert rig.pump.counts["unreadable"] == 5 - len(got)


def test_pages_are_written_before_they_are_read() -> None:
    rig = Rig()
    rig.declare(durable=False)
    rig.publish(*BODIES, persistent=False)
    queue = rig.lone.broker.vhosts["/"].queues["q"]
    queue.backlog.shed(1 << 20, paging=True)
    rig.client.send(1, BasicConsume(queue="q", no_ack=True))
    rig.run()
    assert rig.bodies() == BODIES
    assert rig.pump.counts["messages paged"] > 0


def test_a_page_that_can_not_be_written_is_tried_again() -> None:
    rig = Rig()
    rig.declare(durable=False)
    rig.publish(*BODIES, persistent=False)
    rig.disk.full = True
    rig.lone.broker.vhosts["/"].queues["q"].backlog.shed(1 << 20, paging=True)
    rig.run()
    assert rig.log.pages.stopped
    rig.disk.full = False
    rig.run(PAGE_RETRY_US)
    assert not rig.log.pages.stopped
    assert rig.pump.counts["messages paged"] > 0


def test_a_stopped_pump_does_nothing_more() -> None:
    rig = Rig()
    rig.declare()
    rig.publish(*BODIES)
    rig.client.send(1, BasicConsume(queue="q", no_ack=True))
    rig.pump.kick()
    rig.pump.stop()
    rig.run()
    assert (rig.answers, rig.pump.counts["reads"]) == (0, 0)
