from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.rewriter import RETRY_S
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.disk_pump import DiskPump
from reference_broker.simulation.machine.rewrite_pump import SLOW_STEP_US, RewritePump
from reference_broker.simulation.plan.plans import Copying
from reference_broker.store import open_log
from reference_broker.store.format.segment import COPY_SUFFIX

SEGMENT_BYTES = 4_096
A_WHILE_US = 5_000_000
RETRY_US = int(RETRY_S * 1_000_000)


class Rig:
    """A log with one message in ten left, and what rewrites it."""

    def __init__(self, copying: Copying = Copying.BY_STEP, *, slowly: bool = False) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        self.log, _ = open_log(self.disk, segment_bytes=SEGMENT_BYTES)
        self.log.attach(self)
        self.index = QueueIndex()
        self.disk_pump = DiskPump(self.clock, Random(1), self.log, self.disk, self)
        for _ in range(60):
            content = Content(b"\x00\x01q", b"", bytes(300))
            self.log.publish([Entry(1, self.index.tail)], content)
            self.index.append(content.position, 300, content.stored)
        self.run()
        for sequence in range(60):
            position, _, stored, _ = self.index.entry(sequence)
            if sequence % 10:
                self.log.ack(1, sequence, position, stored)
                self.index.forget(sequence)
        self.run()
        self.made_us = self.clock.now_us
        self.pump = RewritePump(
            self.clock,
            Random(2),
            self.log,
            self.disk,
            self.disk_pump.kick,
            copying,
            lambda: slowly,
        )

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        return self.index.live_columns(queue_id, start, end)

    def run(self, duration_us: int = A_WHILE_US) -> None:
        self.disk_pump.kick()
        self.clock.run(self.clock.now_us + duration_us)

    def copies(self) -> list[str]:
        return [file for file in self.disk.list_files() if file.endswith(COPY_SUFFIX)]

    def synced(self, position: int) -> None:
        if hasattr(self, "pump"):
            self.pump.synced()

    def spare_made(self) -> None: ...

    def disk_full(self) -> None: ...

    def disk_failed(self) -> None: ...


@pytest.mark.parametrize("copying", Copying)
def test_what_is_mostly_dead_gives_its_room_back(copying: Copying) -> None:
    rig = Rig(copying)
    before = rig.disk.size_bytes
    rig.run()
    assert rig.pump.counts["rewrites"] > 0
    assert rig.disk.size_bytes < before
    assert rig.copies() == []


def test_there_is_time_between_the_operations_of_a_copy() -> None:
    rig = Rig()
    seen = 0
    for _ in range(1_000):
        rig.run(1_000)
        seen += bool(rig.copies())
    assert seen > 1


@pytest.mark.parametrize("operation", [1, 2, 3])
def test_what_fails_is_given_up_and_tried_again_later(operation: int) -> None:
    rig = Rig()
    rig.disk.fail_at(operation)
    rig.run()
    assert rig.pump.counts == {"failed rewrites": 1}
    assert rig.copies() == []
    rig.run(RETRY_US)
    assert rig.pump.counts["rewrites"] > 0


def test_a_rotten_source_is_left_alone() -> None:
    rig = Rig()
    position = rig.index.entry(0).position
    source = rig.log.source_of(position)
    assert source is not None
    rig.disk.flip(source.name.file, 8 * (position + 20))
    rig.run(RETRY_US + A_WHILE_US)
    assert rig.pump.counts["unreadable sources"] == 1
    assert source.name.file in rig.disk.list_files()


def test_a_stopped_pump_does_nothing_more() -> None:
    rig = Rig()
    while not rig.copies():
        rig.run(1_000)
    rig.pump.stop()
    operations = rig.disk.operations
    rig.run()
    assert rig.disk.operations == operations


@pytest.mark.parametrize("copying", Copying)
def test_a_clean_stop_ends_the_copy_and_drops_it(copying: Copying) -> None:
    rig = Rig(copying)
    while rig.pump._plan is None:
        rig.run(1_000)
    rig.pump.close()
    operations = rig.disk.operations
    rig.run()
    assert rig.disk.operations == operations
    assert rig.pump.counts["rewrites"] == 0
    assert rig.log.begin_rewrite() is not None, "the log would begin it anew"


def test_a_disk_may_be_slow_with_copies() -> None:
    took_us = []
    for slowly in (False, True):
        rig = Rig(slowly=slowly)
        while not rig.pump.counts["rewrites"]:
            rig.run(1_000)
        took_us.append(rig.clock.now_us - rig.made_us)
    assert took_us[1] > took_us[0] + 2 * SLOW_STEP_US[0]
