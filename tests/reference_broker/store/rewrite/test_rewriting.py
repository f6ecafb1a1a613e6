from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest

from reference_broker.core.index.index import EntryState
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Log, open_log
from reference_broker.store.disk.ports import DeleteFile, RenameFile, SyncDirectory
from reference_broker.store.format import record
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.extents import Extent, ExtentTable
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentState, SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult, Span
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.rewrite.rewriting import Rewriting
from reference_broker.store.start.recovery import recover
from reference_broker.testing.lone_log import (
    LoneQueues,
    adopted,
    filled,
    opened,
    pump,
    segments,
    sequences,
    settle_down,
)


class Alive:
    """Queue 7 has one message at 110, which is handed out."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        if queue_id == 7 and start <= 110 < end:
            taken = bytes([EntryState.TAKEN])
            ones = array("I", [1])
            yield EntryColumns(7, array("Q", [5]), array("q", [110]), ones, ones, taken, None)


class Setting:
    """Three neighbours: the first is a merged one already, and the others refer to it."""

    def __init__(self) -> None:
        self.liveness = Liveness()
        self.uses = []
        for base in (0, 100, 200):
            use = self.liveness.add(SegmentUse(SegmentName(base, 1), 100))
            use.live_bytes = 10
            use.touched = array("Q", [7, 8])
            self.liveness.seal(use, base + 100, 100, 100)
            self.uses.append(use)
        first = self.uses[0]
        first.extents = ExtentTable()
        first.extents.add(Extent(30, 1, ChecksumKind.CRC32C, 40, 9), 98)
        self.liveness.add_reference(first, self.uses[1], 28)
        self.liveness.add_reference(self.uses[1], self.uses[2], 28)
        self.rewriting = Rewriting(self.liveness)

    def begin(self) -> RewritePlan:
        plan = self.rewriting.begin(
            self.uses[1:],
            Alive(),
            epoch=4,
            redelivered_below=50,
            tail=1000,
            checksum=ChecksumKind.CRC32C,
        )
        assert plan is not None
        return plan


RESULT = RewriteResult(80, ExtentTable(), {0: 28})


def test_the_plan_says_what_has_to_be_kept() -> None:
    plan = Setting().begin()
    assert plan.name == SegmentName(100, 1, 1)
    assert plan.end == 300
    assert [source.name.base for source in plan.sources] == [100, 200]
    (group,) = plan.entries
    assert list(group.sequences) == [5]
    assert group.states == bytes([EntryState.READY])
    assert plan.referenced == (Span(0, 100),)
    assert [plan.carries(base) for base in (0, 30, 100)] == [True, True, False]
    assert plan.source_of(210).name.base == 200
    assert (plan.epoch, plan.redelivered_below, plan.tail) == (4, 50, 1000)


def test_nothing_is_begun_when_nothing_is_worth_it() -> None:
    setting = Setting()
    assert setting.rewriting.possible
    nothing = setting.rewriting.begin(
        [], Alive(), epoch=1, redelivered_below=0, tail=0, checksum=ChecksumKind.CRC32C
    )
    assert nothing is None
    assert setting.rewriting.possible


def test_the_copy_gets_its_name_when_the_plan_is_synced_and_then_stands_for_its_sources() -> None:
    setting = Setting()
    rewriting = setting.rewriting
    plan = setting.begin()
    assert not rewriting.possible
    assert rewriting.take_operations(2000) == []
    rewriting.finish(plan, RESULT)
    assert rewriting.take_operations(999) == []
    assert rewriting.take_operations(1000) == [
        RenameFile(plan.name.copy_file, plan.name.file),
        SyncDirectory(),
    ]
    assert rewriting.take_operations(1000) == []
    assert rewriting.take_replaced() == []
    rewriting.batch_synced()
    new = setting.liveness.segments[100]
    assert (new.name, new.end, new.size_bytes, new.live_bytes) == (plan.name, 300, 80, 20)
    assert new.references == {0: 28}
    assert rewriting.take_replaced() == setting.uses[1:]
    assert rewriting.take_replaced() == []
    assert rewriting.possible


def test_given_up_everything_is_as_before() -> None:
    setting = Setting()
    plan = setting.begin()
    assert setting.uses[2].baking == {100: 28}
    setting.rewriting.abandon(plan)
    assert setting.uses[2].references == {100: 28}
    assert {use.state for use in setting.uses} == {SegmentState.SEALED}
    assert setting.rewriting.possible


def test_a_damaged_source_spoils_it() -> None:
    setting = Setting()
    plan = setting.begin()
    setting.rewriting.finish(plan, RESULT)
    setting.uses[1].damaged = True
    assert setting.rewriting.take_operations(1000) == [DeleteFile(plan.name.copy_file)]
    assert setting.liveness.segments[100] is setting.uses[1]
    assert setting.uses[2].references == {100: 28}


def test_the_next_copy_is_not_begun_before_the_spoiled_one_is_deleted() -> None:
    """It may have the same name, and would be deleted in its place."""
    setting = Setting()
    plan = setting.begin()
    setting.rewriting.finish(plan, RESULT)
    setting.uses[2].damaged = True
    setting.rewriting.take_operations(1000)
    assert not setting.rewriting.possible
    setting.rewriting.batch_synced()
    assert setting.rewriting.possible
    again = setting.rewriting.begin(
        setting.uses[1:2],
        Alive(),
        epoch=4,
        redelivered_below=50,
        tail=1000,
        checksum=ChecksumKind.CRC32C,
    )
    assert again is not None
    assert again.name == plan.name


def test_a_batch_of_another_matter_changes_nothing() -> None:
    setting = Setting()
    setting.begin()
    setting.rewriting.batch_synced()
    assert setting.uses[1].state is SegmentState.REWRITING


def test_what_comes_at_the_wrong_time_raises() -> None:
    setting = Setting()
    plan = setting.begin()
    setting.rewriting.finish(plan, RESULT)
    with pytest.raises(AssertionError, match="COPIED -> COPIED"):
        setting.rewriting.finish(plan, RESULT)
    setting.rewriting.take_operations(1000)
    with pytest.raises(AssertionError):
        setting.rewriting.abandon(plan)
    assert setting.uses[1].state is SegmentState.REWRITING


# Through a log


def stuck(count: int, segment_bytes: int = 4096) -> tuple[Log, SimulatedDisk, LoneQueues]:
    """A log with ``count`` segments in each of which nobody takes one message."""
    log, disk, queues = opened(segment_bytes)
    for _ in range(count):
        queues.publish(100, (8,))
        filled(log, disk, queues)
    return log, disk, queues


def test_messages_that_nobody_takes_cost_little_more_than_themselves() -> None:
    log, disk, _ = stuck(40)
    assert len(segments(disk)) > 40
    settle_down(log, disk)
    assert disk.size_bytes < 40 * 300 + 2 * 4096
    assert sequences(disk, 8) == list(range(1, 41))
    assert not recover(disk, trust_footers=False).damage.damaged


def test_one_rewriting_at_a_time_and_it_can_be_given_up() -> None:
    log, disk, _ = stuck(3)
    plan = log.begin_rewrite()
    assert plan is not None
    assert log.begin_rewrite() is None
    log.abandon_rewrite(plan)
    again = log.begin_rewrite()
    assert again is not None
    assert (again.sources, again.referenced) == (plan.sources, plan.referenced)
    log.abandon_rewrite(again)
    settle_down(log, disk)
    assert sequences(disk, 8) == [1, 2, 3]


def test_a_segment_is_not_rewritten_before_it_is_written() -> None:
    log, disk, queues = opened(segment_bytes=2048)
    queues.publish(100, (8,))
    while log.tail < 3 * 2048:
        queues.publish(100)
        queues.ack()
    assert log.begin_rewrite() is None
    assert log.begin_rewrite() is None  # it has looked
    pump(log, disk)
    plan = log.begin_rewrite()
    assert plan is not None
    build(plan, disk)


def test_a_copy_gets_its_name_when_all_that_it_knows_is_synced() -> None:
    log, disk, queues = stuck(3)
    queues.ack(8)
    plan = log.begin_rewrite()
    assert plan is not None
    log.finish_rewrite(plan, build(plan, disk))
    rename = RenameFile(plan.name.copy_file, plan.name.file)
    first, second, third = pump(log, disk), pump(log, disk), pump(log, disk)
    assert first is not None
    assert second is not None
    assert third is not None
    assert rename not in first.operations  # the ack is in this one
    assert second.operations[:2] == [rename, SyncDirectory()]
    deleted = {each.file for each in third.operations if isinstance(each, DeleteFile)}
    assert {source.name.file for source in plan.sources} <= deleted


def test_messages_keep_their_positions_and_are_found_in_the_new_file() -> None:
    log, disk, queues = stuck(3)
    entries = {each: queues.indexes[8].entry(each).position for each in (1, 2, 3)}
    before = log.source_of(entries[1])
    settle_down(log, disk)
    after = log.source_of(entries[1])
    assert before is not None
    assert after is not None
    assert before.name != after.name
    place = after.place(entries[1])
    frame = disk.read_range(place.file, place.offset, 8)
    length, expected = record.FRAME.unpack(frame)
    payload = disk.read_range(place.file, place.offset + 8, length)
    assert checksum_of(place.checksum)(payload, place.seed ^ entries[1]) == expected
    assert log.source_of(1 << 40) is None


def test_a_source_that_turns_out_to_be_damaged_is_not_replaced() -> None:
    log, disk, _ = stuck(3)
    plan = log.begin_rewrite()
    assert plan is not None
    log.finish_rewrite(plan, build(plan, disk))
    log.damaged(plan.sources[0].name.base)
    settle_down(log, disk)
    files = disk.list_files()
    assert plan.sources[0].name.file in files
    assert plan.name.file not in files
    assert plan.name.copy_file not in files


def test_acks_after_the_plan_are_not_lost() -> None:
    log, disk, queues = stuck(3)
    plan = log.begin_rewrite()
    assert plan is not None
    result = build(plan, disk)
    queues.ack(8)
    log.finish_rewrite(plan, result)
    for _ in range(6):
        filled(log, disk, queues)
    assert sequences(disk, 8) == [2, 3]
    log, recovered = open_log(disk, segment_bytes=4096)
    adopted(log, recovered)
    settle_down(log, disk)
    assert sequences(disk, 8) == [2, 3]


def test_an_ack_that_continues_a_range_which_the_plan_had_is_not_lost() -> None:
    log, disk, queues = stuck(12)
    settle_down(log, disk)
    for _ in range(7):
        queues.ack(8)
    pump(log, disk)
    plan = log.begin_rewrite()
    assert plan is not None
    queues.ack(8)  # It follows the seven, in the same segment.
    log.finish_rewrite(plan, build(plan, disk))
    for _ in range(6):
        filled(log, disk, queues)
    assert sequences(disk, 8) == [9, 10, 11, 12]


def test_a_new_file_goes_only_when_its_sources_are_durably_gone() -> None:
    """Otherwise a crash could bring back the old file, with entries whose acks are gone."""
    log, disk, queues = stuck(3)
    plan = log.begin_rewrite()
    assert plan is not None
    log.finish_rewrite(plan, build(plan, disk))
    while plan.name.file not in disk.list_files():
        pump(log, disk)
    for _ in range(3):
        queues.ack(8)
    batch = pump(log, disk)
    assert batch is not None
    old = batch.operations.index(DeleteFile(plan.sources[0].name.file))
    new = batch.operations.index(DeleteFile(plan.name.file))
    assert SyncDirectory() in batch.operations[old:new]
