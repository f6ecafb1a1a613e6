"""Bugs in the runtime's half of the disk: its data folder, what writes the log's batches, what
rewrites its segments, and the watch over its room."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from mutants.mutant import mutant
from mutants.worlds import through_the_folder
from reference_broker.runtime.disk import data_folder
from reference_broker.runtime.disk.data_folder import FolderAccess
from reference_broker.runtime.disk.disk_retry import DiskRetry
from reference_broker.runtime.disk.disk_space import DiskSpace
from reference_broker.runtime.disk.log_writer import LogWriter, Outcome
from reference_broker.runtime.disk.rewriter import Rewriter
from reference_broker.runtime.disk.system_calls import FileCalls
from reference_broker.simulation.disk.fake_system import FakeSystem
from reference_broker.simulation.machine.disk_pump import DiskPump
from reference_broker.store import Operation
from reference_broker.store.disk.ports import Piece, Sync
from reference_broker.store.liveness.rewrite_plan import RewriteResult

# Calls


@mutant("durability", "rebuild", worlds=through_the_folder)
def a_short_write_is_taken_for_whole(patch: pytest.MonkeyPatch) -> None:
    def write_once(calls: FileCalls, descriptor: int, offset: int, pieces: list[Piece]) -> None:
        calls.pwrite(descriptor, b"".join(pieces), offset)

    patch.setattr(data_folder, "_write_all", write_once)


@mutant("durability", "false alarm", worlds=through_the_folder)
def a_short_read_is_taken_for_the_end(patch: pytest.MonkeyPatch) -> None:
    def read_once(self: FolderAccess, file: str, offset: int, size_bytes: int) -> bytes:
        descriptor = self._calls.open(self.directory / file, os.O_RDONLY)
        try:
            return self._calls.pread(descriptor, size_bytes, offset)
        finally:
            self._calls.close(descriptor)

    patch.setattr(FolderAccess, "read_range", read_once)


@mutant("durability", worlds=through_the_folder)
def the_system_syncs_nothing(patch: pytest.MonkeyPatch) -> None:
    """fdatasync returns, and nothing happened."""
    patch.setattr(FakeSystem, "sync_file", lambda self, descriptor: None)


@mutant("durability", worlds=through_the_folder)
def the_directory_is_not_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(data_folder, "_sync_directory", lambda calls, directory: None)


@mutant("durability", "false alarm", worlds=through_the_folder, showed_at=8)
def a_lack_of_descriptors_is_taken_for_a_missing_file(patch: pytest.MonkeyPatch) -> None:
    read = FolderAccess.read_range

    def missing(self: FolderAccess, file: str, offset: int, size_bytes: int) -> bytes:
        try:
            return read(self, file, offset, size_bytes)
        except OSError as error:
            raise FileNotFoundError(file) from error

    patch.setattr(FolderAccess, "read_range", missing)


@mutant("liveness", worlds=through_the_folder)
def what_was_read_stays_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(data_folder, "_let_go", lambda calls, descriptor: None)


@mutant(worlds=through_the_folder, showed_at=34)
def a_close_that_failed_is_tried_again(patch: pytest.MonkeyPatch) -> None:
    """The number may be another's by then: the system doesn't know it."""

    def close(self: FolderAccess) -> None:
        if self._descriptor >= 0:
            self._calls.close(self._descriptor)
        self._descriptor = -1
        self._file = ""

    patch.setattr(FolderAccess, "_close_file", close)


# Batches


@mutant("durability", "false alarm", "rebuild", worlds=through_the_folder, showed_at=14)
def the_operation_without_a_descriptor_is_left_out(patch: pytest.MonkeyPatch) -> None:
    settle = LogWriter._settle

    def one_less(self: LogWriter, outcome: Outcome) -> None:
        if outcome.lacks_descriptor and len(outcome.unperformed) > 1:
            outcome = outcome._replace(unperformed=outcome.unperformed[1:])
        settle(self, outcome)

    patch.setattr(LogWriter, "_settle", one_less)


@mutant("durability", "rebuild", worlds=through_the_folder, showed_at=1)
def the_loop_syncs_nothing(patch: pytest.MonkeyPatch) -> None:
    """The small batches that it takes are written only."""
    perform = DiskPump._perform_here

    def written(self: DiskPump, operations: Sequence[Operation]) -> Outcome:
        unsynced = [each for each in operations if not isinstance(each, Sync)]
        return perform(self, unsynced or operations)

    patch.setattr(DiskPump, "_perform_here", written)


@mutant("liveness", worlds=through_the_folder)
def acks_alone_are_never_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogWriter, "_sync_acks_later", lambda self: None)


# Rewriting


@mutant("disk use")
def copies_wait_for_somebody_to_write(patch: pytest.MonkeyPatch) -> None:
    """A copy is finished, and the disk is not told: at rest nobody else tells it anything."""
    begin = Rewriter._begin

    def without_a_kick(self: Rewriter) -> None:
        self._kick_disk = lambda: None
        begin(self)

    patch.setattr(Rewriter, "_begin", without_a_kick)


@mutant("disk use", showed_at=12)
def one_look_is_all_there_is(patch: pytest.MonkeyPatch) -> None:
    """No look follows one that has found nothing worth it, unless something is synced."""
    begin = Rewriter._begin

    def once(self: Rewriter) -> None:
        begin(self)
        if self._plan is None and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    patch.setattr(Rewriter, "_begin", once)


@mutant("disk use", showed_at=20)
def a_copy_that_failed_is_under_way_for_ever(patch: pytest.MonkeyPatch) -> None:
    """The log is not told, and plans no other."""
    finish = Rewriter._finish

    def silently(self: Rewriter, outcome: RewriteResult | Exception) -> None:
        with pytest.MonkeyPatch.context() as unheard:
            if not isinstance(outcome, RewriteResult):
                unheard.setattr(self._log, "abandon_rewrite", lambda plan: None)
            finish(self, outcome)

    patch.setattr(Rewriter, "_finish", silently)


@mutant()
def a_look_forgets_the_copy_under_way(patch: pytest.MonkeyPatch) -> None:
    """A sync has it look again, whether a copy is made or not."""
    synced = Rewriter.synced

    def anyway(self: Rewriter) -> None:
        plan, self._plan = self._plan, None
        synced(self)
        self._plan = plan

    patch.setattr(Rewriter, "synced", anyway)


# Room


@mutant("liveness", showed_at=31)
def a_full_disk_is_not_tried_again(patch: pytest.MonkeyPatch) -> None:
    """Blocked publishers send nothing, and nothing else kicks it."""
    patch.setattr(DiskRetry, "later", lambda self: None)


@mutant("liveness", showed_at=31)
def a_full_disk_is_tried_again_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiskRetry, "_try", lambda self: self._retry())


@mutant("liveness", showed_at=31)
def the_spare_is_not_asked_for_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiskSpace, "retry", lambda self: None)


@mutant("liveness", showed_at=31)
def the_alarm_outlasts_the_shortage(patch: pytest.MonkeyPatch) -> None:
    judge = DiskSpace._judge

    def once_low_always_low(self: DiskSpace) -> None:
        if not self.low:
            judge(self)

    patch.setattr(DiskSpace, "_judge", once_low_always_low)
