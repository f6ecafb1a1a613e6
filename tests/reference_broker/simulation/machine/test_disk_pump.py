from __future__ import annotations

import errno
from collections.abc import Iterator
from random import Random

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.log_writer import DiskState
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.disk_pump import ACKS_UNSYNCED_US, DiskPump
from reference_broker.simulation.plan.plans import Syncing
from reference_broker.store import open_log

A_WHILE_US = 60_000_000
SEGMENT_BYTES = 4_096


class Rig:
    """A log on a disk, and what its pump reports."""

    def __init__(self, syncing: Syncing = Syncing.BY_THREAD) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        self.log, _ = open_log(self.disk, segment_bytes=SEGMENT_BYTES)
        self.reports: list[str] = []
        self.index = QueueIndex()
        self.log.attach(self)
        self.slow_sync_chance = 0.0
        self.pump = DiskPump(
            self.clock,
            Random(1),
            self.log,
            self.disk,
            self,
            syncing,
            lambda: self.slow_sync_chance,
        )

    def publish(self, size: int = 10) -> None:
        content = Content(b"\x00\x01q", b"", bytes(size))
        self.log.publish([Entry(1, self.index.tail)], content)
        self.index.append(content.position, size, content.stored)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        return self.index.live_columns(queue_id, start, end)

    def run(self) -> None:
        self.clock.run(self.clock.now_us + A_WHILE_US)

    def synced(self, position: int) -> None:
        assert position == self.log.synced
        self.reports.append("synced")

    def spare_made(self) -> None:
        self.reports.append("no spare" if self.log.spare_missing else "spare")

    def disk_full(self) -> None:
        self.reports.append("full")

    def disk_failed(self) -> None:
        self.reports.append("failed")


def test_a_batch_in_place_may_be_performed_at_once() -> None:
    rig = Rig(Syncing.MEASURED)
    rig.publish()
    rig.pump.kick()
    assert rig.reports == ["synced"]
    assert rig.log.synced == rig.log.tail
    rig.publish(SEGMENT_BYTES)
    rig.pump.kick()
    assert rig.log.synced < rig.log.tail, "a new segment is not"


def test_acks_alone_are_synced_later() -> None:
    rig = Rig(Syncing.MEASURED)
    rig.publish()
    rig.pump.kick()
    sequence, _ = rig.index.take() or (0, False)
    position, _, stored, _ = rig.index.entry(sequence)
    rig.log.ack(1, sequence, position, stored)
    rig.index.settle(sequence)
    rig.pump.kick()
    assert rig.reports == ["synced"]
    assert rig.log.synced < rig.log.tail
    rig.clock.run(rig.clock.now_us + ACKS_UNSYNCED_US)
    assert rig.log.synced == rig.log.tail


def test_a_batch_takes_time_and_is_reported_when_it_is_durable() -> None:
    rig = Rig()
    rig.publish()
    rig.pump.kick()
    assert rig.log.synced < rig.log.tail
    rig.run()
    assert (rig.reports, rig.log.synced) == (["synced"], rig.log.tail)


def test_what_is_logged_meanwhile_goes_as_the_next_batch() -> None:
    rig = Rig()
    rig.publish()
    rig.pump.kick()
    rig.publish()
    rig.publish()
    rig.pump.kick()
    rig.run()
    assert (rig.reports, rig.log.synced) == (["synced", "synced"], rig.log.tail)


def test_a_stopped_pump_performs_nothing() -> None:
    rig = Rig()
    rig.publish()
    rig.pump.kick()
    operations = rig.disk.operations
    rig.pump.stop()
    rig.pump.kick()
    rig.run()
    assert (rig.reports, rig.disk.operations) == ([], operations)


def test_a_failed_operation_is_reported_once_and_ends_it() -> None:
    rig = Rig()
    rig.disk.fail_at(2)
    rig.publish()
    rig.pump.kick()
    rig.run()
    rig.publish()
    rig.pump.kick()
    rig.run()
    assert rig.reports == ["failed"]
    assert not rig.pump.end(clean=True)


def test_a_full_disk_waits_for_a_kick() -> None:
    rig = Rig()
    rig.disk.full = True
    rig.publish(SEGMENT_BYTES)
    rig.pump.kick()
    rig.run()
    assert rig.reports == ["full"]
    rig.pump.kick()
    rig.run()
    assert rig.reports == ["full"], "it is told once"
    rig.disk.full = False
    rig.pump.kick()
    rig.run()
    assert (rig.reports[-1], rig.log.synced) == ("synced", rig.log.tail)


def test_a_full_disk_has_no_clean_end() -> None:
    rig = Rig()
    rig.disk.full = True
    rig.publish(SEGMENT_BYTES)
    rig.pump.kick()
    rig.run()
    assert not rig.pump.end(clean=True)


def test_a_clean_stop_needs_no_time() -> None:
    rig = Rig()
    rig.publish()
    rig.pump.kick()
    rig.publish()
    assert rig.pump.end(clean=True)
    rig.disk.crash(Crash.DROP)
    rig.run()
    _, recovered = open_log(rig.disk, segment_bytes=SEGMENT_BYTES)
    assert recovered.clean
    assert len(recovered.queues[1][0]) == 2


def test_without_room_for_a_spare_the_batch_goes_on_and_it_is_said() -> None:
    rig = Rig()
    rig.disk.full = True
    rig.publish(SEGMENT_BYTES // 2)
    rig.publish(SEGMENT_BYTES // 2)
    rig.pump.kick()
    rig.run()
    assert (rig.reports, rig.log.synced) == (["no spare", "synced"], rig.log.tail)
    rig.disk.full = False
    rig.log.retry_spare()
    rig.pump.kick()
    rig.run()
    assert rig.reports[2:] == ["spare", "synced"]


def test_who_performs_small_batches_is_for_the_plan() -> None:
    shares = []
    for syncing in (Syncing.BY_THREAD, Syncing.BY_CHANCE, Syncing.MEASURED):
        rig = Rig(syncing)
        for _ in range(30):
            rig.publish()
            rig.pump.kick()
            rig.run()
        shares.append(rig.pump.counts["batches of the loop"])
    assert shares[0] == 0
    assert 0 < shares[1] < 30
    assert shares[2] == 30


def test_a_slow_sync_of_the_loop_leaves_the_next_batches_to_the_thread() -> None:
    rig = Rig(Syncing.MEASURED)
    rig.slow_sync_chance = 1.0
    for _ in range(2):
        rig.publish()
        rig.pump.kick()
    assert rig.reports == ["synced"]
    assert rig.pump.state is DiskState.WRITING
    rig.run()
    assert rig.reports == ["synced", "synced"]


def test_without_a_descriptor_the_batch_waits_and_is_not_lost() -> None:
    rig = Rig()
    rig.disk.fail_at(1, errno.EMFILE)
    rig.publish()
    rig.pump.kick()
    rig.clock.run(rig.clock.now_us + 50_000)
    assert rig.reports == []
    rig.run()
    assert rig.reports == ["synced"]
    assert rig.pump.counts["batches of the thread"] == 2


def test_a_stop_waits_for_no_descriptor() -> None:
    rig = Rig()
    rig.disk.fail_at(1, errno.EMFILE)
    rig.publish()
    rig.pump.kick()
    rig.clock.run(rig.clock.now_us + 50_000)
    assert rig.pump.end(clean=True), "there is one by now"
    assert rig.log.synced == rig.log.tail
