from __future__ import annotations

from array import array
from collections.abc import Iterator

from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.checksum import ChecksumKind
from reference_broker.store.departures import REMOVED_ROOM, Departures
from reference_broker.store.extents import ExtentTable
from reference_broker.store.liveness import Liveness, SegmentState, SegmentUse
from reference_broker.store.ports import DeleteFile, RenameFile, SyncDirectory
from reference_broker.store.rewrite_plan import RewriteResult
from reference_broker.store.rewriting import Rewriting
from reference_broker.store.segment import SegmentName


class Nothing:
    """No queue has anything."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from ()


class Setting:
    """Neighbours of 100 bytes, all of them dead but the first few, which are to be rewritten."""

    def __init__(self, count: int, alive: int = 0) -> None:
        self.liveness = Liveness()
        self.rewriting = Rewriting(self.liveness)
        self.departures = Departures(self.liveness, self.rewriting)
        self.uses = []
        for number in range(count):
            use = self.liveness.add(SegmentUse(SegmentName(100 * number, 1), 100))
            use.live_bytes = 10 if number < alive else 0
            use.touched = array("Q")
            self.liveness.seal(use, use.base + 100, 100, 100)
            self.uses.append(use)

    def rewrite(self, count: int) -> SegmentUse:
        """The first ones into one, whose name is durable."""
        plan = self.rewriting.begin(
            self.uses[:count],
            Nothing(),
            epoch=1,
            redelivered_below=0,
            tail=0,
            checksum=ChecksumKind.CRC32C,
        )
        assert plan is not None
        self.rewriting.finish(plan, RewriteResult(50, ExtentTable(), {}))
        self.rewriting.take_operations(0)
        self.rewriting.batch_synced()
        return self.liveness.segments[0]


def test_what_is_dead_leaves_once_and_is_said() -> None:
    setting = Setting(3)
    leaving = setting.departures.take()
    assert leaving.bases == [0, 100, 200]
    deleted = [DeleteFile(use.name.file) for use in setting.uses]
    assert leaving.operations == [*deleted, SyncDirectory()]
    assert {use.state for use in setting.uses} == {SegmentState.LEAVING}
    assert setting.departures.take() == ([], [])
    assert setting.departures.take_ordered() == setting.uses
    assert setting.departures.take_ordered() == []


def test_the_room_for_a_removed_is_enough_for_32_and_the_others_come_next() -> None:
    setting = Setting(40)
    first = setting.departures.take_within(REMOVED_ROOM)
    assert first.bases == [100 * number for number in range(32)]
    assert len(first.operations) == 32 + 1
    rest = setting.departures.take_within(REMOVED_ROOM)
    assert rest.bases == [100 * number for number in range(32, 40)]
    assert setting.departures.take_ordered() == setting.uses
    assert Setting(1).departures.take_within(0) == ([], [])


def test_a_damaged_one_is_put_aside() -> None:
    setting = Setting(1)
    setting.uses[0].damaged = True
    file = setting.uses[0].name.file
    renamed = RenameFile(file, file + ".quarantine")
    assert setting.departures.take() == ([0], [renamed, SyncDirectory()])


def test_replaced_files_leave_first_and_a_base_that_goes_on_is_not_gone() -> None:
    setting = Setting(4, alive=2)
    new = setting.rewrite(2)
    leaving = setting.departures.take(3)
    old = [DeleteFile(use.name.file) for use in setting.uses]
    assert leaving.bases == [100, 200]
    assert leaving.operations == [old[0], old[1], SyncDirectory(), old[2], SyncDirectory()]
    assert setting.departures.take() == ([300], [old[3], SyncDirectory()])
    assert setting.departures.take_ordered() == setting.uses[2:]
    assert new.state is SegmentState.SEALED


def test_nobody_dead_overtakes_what_was_replaced() -> None:
    """A new file that is dead already must not go while the old ones may come back."""
    setting = Setting(2, alive=2)
    new = setting.rewrite(2)
    setting.liveness.settle(0, 20)
    one = setting.departures.take(1)
    assert one.operations == [DeleteFile(setting.uses[0].name.file), SyncDirectory()]
    rest = setting.departures.take(2)
    old, gone = DeleteFile(setting.uses[1].name.file), DeleteFile(new.name.file)
    assert rest.operations == [old, SyncDirectory(), gone, SyncDirectory()]
