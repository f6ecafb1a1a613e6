from __future__ import annotations

from array import array
from collections.abc import Iterator

from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.disk.ports import DeleteFile, RenameFile, SyncDirectory
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import ExtentTable
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentState, SegmentUse
from reference_broker.store.liveness.rewrite_plan import RewriteResult
from reference_broker.store.log.deletions import REMOVED_ROOM, Deletions
from reference_broker.store.rewrite.rewriting import Rewriting


class Nothing:
    """No queue has anything."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from ()


class Setting:
    """Neighbours of 100 bytes, all of them dead but the first few, which are to be rewritten."""

    def __init__(self, count: int, alive: int = 0) -> None:
        self.liveness = Liveness()
        self.rewriting = Rewriting(self.liveness)
        self.deletions = Deletions(self.liveness, self.rewriting)
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


def test_a_dead_segment_is_deleted_once_and_its_base_is_logged() -> None:
    setting = Setting(3)
    deletion = setting.deletions.take()
    assert deletion.bases == [0, 100, 200]
    assert deletion.removed == setting.uses
    deleted = [DeleteFile(use.name.file) for use in setting.uses]
    assert deletion.operations == [*deleted, SyncDirectory()]
    assert {use.state for use in setting.uses} == {SegmentState.DELETING}
    assert setting.deletions.take() == ([], [], [])


def test_the_room_for_a_removed_is_enough_for_32_and_the_others_come_next() -> None:
    setting = Setting(40)
    first = setting.deletions.take_within(REMOVED_ROOM)
    assert first.bases == [100 * number for number in range(32)]
    assert len(first.operations) == 32 + 1
    rest = setting.deletions.take_within(REMOVED_ROOM)
    assert rest.bases == [100 * number for number in range(32, 40)]
    assert first.removed + rest.removed == setting.uses
    assert Setting(1).deletions.take_within(0) == ([], [], [])


def test_a_damaged_one_is_put_aside() -> None:
    setting = Setting(1)
    setting.uses[0].damaged = True
    file = setting.uses[0].name.file
    renamed = RenameFile(file, file + ".quarantine")
    assert setting.deletions.take() == ([0], [renamed, SyncDirectory()], setting.uses)


def test_replaced_files_are_deleted_first_and_a_base_that_goes_on_is_not_gone() -> None:
    setting = Setting(4, alive=2)
    new = setting.rewrite(2)
    deletion = setting.deletions.take(3)
    old = [DeleteFile(use.name.file) for use in setting.uses]
    assert deletion.bases == [100, 200]
    assert deletion.operations == [old[0], old[1], SyncDirectory(), old[2], SyncDirectory()]
    assert deletion.removed == [setting.uses[2]]
    last = [setting.uses[3]]
    assert setting.deletions.take() == ([300], [old[3], SyncDirectory()], last)
    assert new.state is SegmentState.SEALED


def test_nobody_dead_overtakes_what_was_replaced() -> None:
    """A new file that is dead already must not go while the old ones may come back."""
    setting = Setting(2, alive=2)
    new = setting.rewrite(2)
    setting.liveness.settle(0, 20)
    one = setting.deletions.take(1)
    assert one.operations == [DeleteFile(setting.uses[0].name.file), SyncDirectory()]
    rest = setting.deletions.take(2)
    old, gone = DeleteFile(setting.uses[1].name.file), DeleteFile(new.name.file)
    assert rest.operations == [old, SyncDirectory(), gone, SyncDirectory()]
