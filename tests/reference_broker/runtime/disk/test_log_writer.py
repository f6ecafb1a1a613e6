from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

import pytest

from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk.log_writer import (
    TRANSITIONS,
    DiskState,
    LogWriter,
    Outcome,
    attempt,
)
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.store import Operation, open_log
from reference_broker.store.disk.ports import CreateFile, CreateSpare, Sync, Write
from reference_broker.store.log.log import Log
from reference_broker.testing.lone_log import LoneQueues, segments


class Writer(LogWriter):
    """Performs a batch when a test says so."""

    def __init__(self, log: Log, disk: PoweredDisk) -> None:
        self.said: list[object] = []
        self.timers: list[Callable[[], None]] = []
        self.begun: list[Operation] = []
        self.kicks = 0
        self.now_s = 0.0
        syncs = LoopSyncs(lambda: self.now_s)
        syncs.took(-1)  # the loop leaves all to whoever performs
        super().__init__(
            log,
            disk,
            lambda seconds, callback: self.timers.append(callback),
            syncs,
            self.said.append,
            self.said.append,
            lambda: self.said.append("full"),
            lambda: self.said.append("no spare" if log.spare_missing else "spare"),
        )

    def perform(self) -> None:
        self._settle(self._wait())

    def _begin(self, operations: list[Operation]) -> None:
        self.begun = operations

    def _perform_here(self, operations: Sequence[Operation]) -> Outcome:
        return attempt(self._disk, operations)

    def _wait(self) -> Outcome:
        return attempt(self._disk, self.begun)

    def _kicked_again(self) -> None:
        self.kicks += 1


def written(segment_bytes: int = 4_096) -> tuple[Writer, PoweredDisk, LoneQueues]:
    disk = PoweredDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes)
    return Writer(log, disk), disk, LoneQueues(log)


def test_the_transition_table_is_complete_and_holds() -> None:
    assert list(TRANSITIONS) == list(DiskState)
    writer, _, _ = written()
    with pytest.raises(AssertionError, match="IDLE -> FULL"):
        writer._change(DiskState.FULL)
    assert writer.state is DiskState.IDLE


def test_one_batch_is_on_its_way_and_the_rest_follows_it() -> None:
    writer, _, queues = written()
    for _ in range(3):
        queues.publish()
        writer.kick()
    assert (writer.state, writer.kicks, writer.said) == (DiskState.WRITING, 2, [])
    writer.perform()
    assert writer.state is DiskState.WRITING
    writer.perform()
    assert (writer.state, writer.batches) == (DiskState.IDLE, 2)
    assert writer.said[-1] == queues.log.synced == queues.log.tail


def test_the_loop_performs_what_it_may_take() -> None:
    writer, _, queues = written()
    writer.now_s = 1_000.0
    queues.publish()
    writer.kick()
    assert (writer.state, writer.said) == (DiskState.IDLE, [queues.log.tail])


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_without_a_descriptor_what_was_not_performed_is_begun_again(error: int) -> None:
    writer, disk, queues = written()
    queues.publish()
    writer.kick()
    whole = writer.begun
    disk.fail_at(2, error)
    writer.perform()
    assert (writer.state, writer.begun) == (DiskState.WRITING, whole[1:])
    writer.perform()
    assert writer.said == [queues.log.synced]


def test_at_its_end_it_does_not_wait_for_a_descriptor() -> None:
    writer, disk, queues = written()
    queues.publish()
    for operation in (1, 2):
        disk.fail_at(operation, errno.EMFILE)
    assert not writer.end(clean=True)
    assert writer.state is DiskState.CLOSED


def test_a_failure_is_told_once_and_nothing_is_tried_again() -> None:
    writer, disk, queues = written()
    queues.publish()
    writer.kick()
    disk.fail_at(1)
    writer.perform()
    queues.publish()
    writer.kick()
    (failure,) = writer.said
    assert isinstance(failure, DiskFailed)
    assert not writer.end(clean=True)


def test_acks_alone_are_synced_later_and_once() -> None:
    writer, _, queues = written()
    queues.publish()
    writer.kick()
    writer.perform()
    queues.ack()
    writer.kick()
    writer.perform()
    assert queues.log.synced < queues.log.tail
    (sync,) = writer.timers
    sync()
    writer.perform()
    assert queues.log.synced == queues.log.tail
    assert len(writer.timers) == 1


def test_a_spare_of_the_usual_size_is_not_the_larger_one_that_somebody_waits_for() -> None:
    writer, disk, queues = written()
    space = queues.log.free_space
    disk.full = True
    assert not space.admits(6_000, 1)
    writer.kick()
    writer.perform()
    assert writer.said == ["no spare", queues.log.synced]
    disk.full = False
    file_in_use = segments(disk)[-1]
    while segments(disk)[-1] == file_in_use:  # the spare becomes a segment, and the next is made
        queues.publish(300)
        writer.kick()
        writer.perform()
    assert [said for said in writer.said if isinstance(said, str)] == ["no spare", "no spare"]
    assert not space.admits(6_000, 1)
    queues.log.retry_spare()
    writer.kick()
    writer.perform()
    assert writer.said[-2:] == ["spare", queues.log.synced]
    assert space.admits(6_000, 1)


def test_an_attempt_ends_at_what_fails_and_goes_on_without_a_spare() -> None:
    disk = PoweredDisk(capacity_bytes=4)
    syncs: list[int] = []
    operations: list[Operation] = [
        CreateFile("a", 4), CreateSpare("spare", 4), Write("a", 0, [b"x"]), Sync("a"),
    ]  # fmt: skip
    outcome = attempt(disk, operations, lambda: syncs.append(disk.operations))
    assert outcome == Outcome([], None, spare_missing=True)
    assert syncs == [2]
    disk.fail_at(2)
    outcome = attempt(disk, operations[2:])
    assert outcome.unperformed == operations[3:]
    assert not outcome.lacks_descriptor
