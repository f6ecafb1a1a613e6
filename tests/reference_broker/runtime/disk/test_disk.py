from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_broker.core.index.entry_state import EntryState
from reference_broker.errors import DataDirectoryLocked, DiskFailed, StoreError
from reference_broker.runtime.disk import disk as disk_module
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.runtime.disk.disk import (
    LATE_S,
    SYNC_ASIDE_EVERY_S,
    SYNC_LATE_S,
    DiskThread,
    open_store,
)
from reference_broker.runtime.disk.log_writer import DiskState
from reference_broker.runtime.disk.loop_syncs import SLOW_S, LoopSyncs
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import Crash
from reference_broker.store import Operation, RecoveredLog, open_log
from reference_broker.store.disk.ports import Sync, Write
from reference_broker.store.log.log import ACKS_UNSYNCED_S
from reference_broker.testing.disk_loop import DiskLoop
from reference_broker.testing.gated_disk import GatedDisk

WAIT_S = 20
SMALL_SEGMENT = 1024


def sequences(recovered: RecoveredLog) -> list[int]:
    """The live entries of queue 7."""
    return [s for columns in recovered.live_entries(7, 0, 1 << 62) for s in columns.sequences]


def looped(segment_bytes: int = 1 << 20) -> tuple[DiskLoop, GatedDisk]:
    disk = GatedDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes)
    disk.reached.clear()
    return DiskLoop(log, disk), disk


def is_writing(loop: DiskLoop) -> bool:
    return loop.thread.state is DiskState.WRITING


def test_a_lone_record_is_synced_at_once_and_then_reported() -> None:
    loop, disk = looped()
    loop.publish(1)
    end = loop.log.tail
    loop.thread.kick()
    loop.settle()
    assert loop.events == [end]
    assert loop.log.synced == end
    assert isinstance(disk.performed[-1], Sync)
    loop.thread.close()


def test_what_comes_meanwhile_forms_one_batch() -> None:
    loop, disk = looped()
    disk.gate.clear()
    loop.publish(1)
    loop.thread.kick()
    assert disk.reached.wait(WAIT_S)
    for sequence in range(2, 100):
        loop.publish(sequence)
        loop.thread.kick()
    assert loop.events == []
    disk.gate.set()
    loop.settle()
    assert loop.thread.batches == 2
    assert loop.events[-1] == loop.log.tail
    loop.thread.close()


def test_nothing_is_reported_before_the_sync_returned() -> None:
    loop, disk = looped()
    disk.gate.clear()
    loop.publish(1)
    loop.thread.kick()
    assert disk.reached.wait(WAIT_S)
    assert loop.calls.empty()
    assert loop.log.synced < loop.log.tail
    disk.gate.set()
    loop.settle()
    assert loop.log.synced == loop.log.tail
    loop.thread.close()


def test_kicks_without_records_do_nothing() -> None:
    loop, disk = looped()
    before = disk.operations
    for _ in range(3):
        loop.thread.kick()
    assert loop.thread.state is DiskState.IDLE
    assert disk.operations == before
    loop.thread.close()


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_write_or_sync_is_reported_once_and_ends_it(failing: int) -> None:
    loop, disk = looped()
    synced = loop.log.synced
    disk.fail_at(failing, errno.EIO)
    loop.publish(1)
    loop.thread.kick()
    loop.settle()
    (error,) = loop.events
    assert isinstance(error, DiskFailed)
    assert loop.thread.state is DiskState.FAILED
    loop.publish(2)
    loop.thread.kick()
    assert loop.log.synced == synced
    done = disk.operations
    loop.thread.close()
    assert disk.operations == done
    assert len(loop.events) == 1


def test_no_space_in_the_middle_of_a_segment_is_a_failure() -> None:
    loop, disk = looped()
    disk.fail_at(1, errno.ENOSPC)
    loop.publish(1)
    loop.thread.kick()
    loop.settle()
    assert isinstance(loop.events[0], DiskFailed)
    loop.thread.close()


def test_a_full_disk_is_told_once_and_the_batch_goes_on_when_there_is_room() -> None:
    loop, disk = looped(SMALL_SEGMENT)
    disk.full = errno.ENOSPC
    for sequence in range(1, 7):
        loop.publish(sequence, size=400)
    loop.thread.kick()
    loop.settle()
    assert loop.thread.state is DiskState.FULL
    loop.publish(7)
    loop.thread.kick()
    loop.settle()
    assert loop.events == ["full"]
    assert loop.log.synced < loop.log.tail
    disk.full = 0
    loop.thread.kick()
    loop.settle()
    assert loop.events[-1] == loop.log.tail == loop.log.synced
    loop.thread.close()
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk)
    assert sequences(recovered) == [1, 2, 3, 4, 5, 6, 7]
    assert recovered.clean


def test_a_disk_that_becomes_full_again_is_told_again() -> None:
    loop, disk = looped(SMALL_SEGMENT)
    for first in (1, 11):
        disk.full = errno.EDQUOT
        for sequence in range(first, first + 6):
            loop.publish(sequence, size=400)
        loop.thread.kick()
        loop.settle()
        assert loop.thread.state is DiskState.FULL
        disk.full = 0
        loop.thread.kick()
        loop.settle()
    assert loop.events.count("full") == 2
    loop.thread.close()


def test_without_room_for_a_spare_the_log_goes_on_and_says_so() -> None:
    loop, disk = looped(SMALL_SEGMENT)
    disk.full = errno.ENOSPC
    for sequence in range(1, 3):
        loop.publish(sequence, size=400)
    loop.thread.kick()
    loop.settle()
    assert loop.events[-1] == loop.log.synced == loop.log.tail
    assert loop.spares == [True]
    assert loop.log.spare_missing
    loop.thread.kick()
    assert loop.spares == [True], "it is tried again when somebody says so"
    for full, spares in ((errno.ENOSPC, [True, True]), (0, [True, True, False])):
        disk.full = full
        loop.log.retry_spare()
        loop.thread.kick()
        loop.settle()
        assert loop.spares == spares
    assert not loop.log.spare_missing
    loop.thread.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_process_without_descriptors_is_no_failed_disk(
    number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(disk_module, "DESCRIPTOR_RETRY_S", 0)
    loop, disk = looped(SMALL_SEGMENT)
    for sequence in range(1, 40):
        # Each operation of a batch, the first and the last one too, is tried three times.
        disk.shortages = ([0] * (sequence % 4)) + [number] * 2
        loop.publish(sequence, size=100)
        loop.thread.kick()
        loop.settle()
        disk.shortages = []
        assert loop.log.synced == loop.log.tail
    assert not any(isinstance(event, DiskFailed) or event == "full" for event in loop.events)
    assert 10 < caplog.text.count("the log waits, and tries again") < 40
    loop.thread.close()
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk)
    assert sequences(recovered) == list(range(1, 40))
    assert recovered.clean


def test_the_loop_does_not_wait_for_a_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = GatedDisk()
    log, _ = open_log(disk)
    loop = DiskLoop(log, disk, takes_syncs=True)
    monkeypatch.setattr(disk_module, "DESCRIPTOR_RETRY_S", 3_600)
    loop.publish(1)
    disk.shortages = [errno.EMFILE]
    loop.thread.kick()  # the thread tries again, at once
    loop.settle()
    assert loop.log.synced == loop.log.tail
    loop.thread.close()


def test_closing_without_descriptors_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_module, "DESCRIPTOR_RETRY_S", 0)
    loop, disk = looped()
    loop.publish(1)
    disk.shortages = [errno.EMFILE] * 1_000_000
    loop.thread.kick()
    loop.thread.close()
    assert loop.thread.state is DiskState.CLOSED
    disk.shortages = []
    disk.crash(Crash.DROP)
    assert not open_log(disk)[1].clean


def test_any_other_error_about_a_spare_is_a_failure() -> None:
    loop, disk = looped(SMALL_SEGMENT)
    disk.full = errno.EIO
    for sequence in range(1, 3):
        loop.publish(sequence, size=400)
    loop.thread.kick()
    loop.settle()
    assert isinstance(loop.events[0], DiskFailed)
    loop.thread.close()


def test_closing_on_a_full_disk_gives_up_and_the_next_start_is_unclean() -> None:
    loop, disk = looped(SMALL_SEGMENT)
    disk.full = errno.ENOSPC
    for sequence in range(1, 7):
        loop.publish(sequence, size=400)
    loop.thread.kick()
    loop.thread.close()
    assert loop.thread.state is DiskState.CLOSED
    disk.crash(Crash.DROP)
    disk.full = 0
    assert not open_log(disk)[1].clean


def test_close_writes_what_is_pending_and_stops_cleanly_also_without_a_loop() -> None:
    loop, disk = looped()
    disk.gate.clear()
    loop.publish(1)
    loop.thread.kick()
    assert disk.reached.wait(WAIT_S)
    loop.publish(2)
    disk.gate.set()
    loop.thread.close()
    loop.thread.close()
    assert loop.events[-1] == loop.log.synced == loop.log.tail
    while not loop.calls.empty():
        loop.run_one()  # late callbacks find nothing to do
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk)
    assert recovered.clean
    assert sequences(recovered) == [1, 2]


def test_a_closed_loop_does_not_stop_the_thread() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)

    def closed(callback: Callable[[], None]) -> None:
        raise RuntimeError("Event loop is closed")

    thread = DiskThread(
        log,
        disk,
        closed,
        lambda _, callback: callback(),
        LoopSyncs(lambda: 0.0),
        lambda _: None,
        lambda _: None,
        lambda: None,
        lambda: None,
    )
    log.define("key", b"value")
    thread.kick()
    thread.close()
    assert log.synced == log.tail


def test_a_real_folder_survives_a_clean_stop_and_a_kill(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    store = open_store(directory)
    assert store.recovered.clean
    loop = DiskLoop(store.log, store.folder)
    for sequence in range(1, 101):
        loop.publish(sequence, size=1000)
        loop.thread.kick()
    loop.thread.close()

    store = open_store(directory)
    assert store.recovered.clean
    assert sequences(store.recovered) == list(range(1, 101))
    live = loop.live
    loop = DiskLoop(store.log, store.folder)
    for sequence in range(1, 91):
        content = live[sequence]
        store.log.ack(7, sequence, content.position, content.stored)
    loop.thread.kick()
    loop.settle()
    store.folder.close()  # as a kill does, the lock goes and nothing is said

    store = open_store(directory)
    assert not store.recovered.clean
    assert sequences(store.recovered) == list(range(91, 101))
    for columns in store.recovered.live_entries(7, 0, 1 << 62):
        assert set(columns.states) == {EntryState.REDELIVERED}
    store.folder.close()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(DataDirectoryLocked):
        open_store(tmp_path)
    store.folder.close()
    open_store(tmp_path).folder.close()


def test_a_folder_that_cannot_be_read_is_a_failed_disk(tmp_path: Path) -> None:
    (tmp_path / "0000000000000000-00000001-00000000.segment").mkdir()
    with pytest.raises(DiskFailed, match="can't use the data folder"):
        open_store(tmp_path)
    DataFolder(tmp_path).close()  # the lock was given back


def test_a_path_that_is_a_file_is_a_failed_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        open_store(tmp_path / "file")


def test_one_sync_per_batch_and_file() -> None:
    loop, disk = looped()
    for sequence in range(50):
        loop.publish(sequence)
    before = len(disk.performed)
    loop.thread.kick()
    loop.settle()
    assert [type(each) for each in disk.performed[before:]] == [Write, Sync]
    loop.thread.close()


def synced_loop(*, takes_syncs: bool = True) -> tuple[DiskLoop, GatedDisk]:
    disk = GatedDisk()
    log, _ = open_log(disk, segment_bytes=1 << 20)
    loop = DiskLoop(log, disk, takes_syncs=takes_syncs)
    loop.publish(1)
    loop.thread.kick()
    loop.settle()
    disk.performed.clear()
    return loop, disk


def test_the_loop_performs_a_small_batch_by_itself() -> None:
    loop, _ = synced_loop()
    assert loop.calls.empty()
    assert loop.events == [loop.log.tail] == [loop.log.synced]
    loop.publish(2, size=200_000)
    loop.thread.kick()
    assert loop.log.synced < loop.log.tail, "a large one is the thread's"
    loop.settle()
    assert loop.log.synced == loop.log.tail
    loop.thread.close()


def test_a_slow_sync_hands_the_next_ones_to_the_thread() -> None:
    loop, disk = synced_loop()
    perform = disk.perform

    def slow(operation: Operation) -> None:
        loop.now_s += SLOW_S
        perform(operation)

    disk.perform = slow  # type: ignore[method-assign]
    loop.publish(2)
    loop.thread.kick()
    assert loop.log.synced == loop.log.tail
    loop.publish(3)
    loop.thread.kick()
    assert loop.thread.state is DiskState.WRITING
    loop.settle()
    loop.thread.close()


def test_the_loop_stands_aside_until_a_batch_that_is_late_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, disk = looped()
    disk.write_gate.clear()
    loop.publish(1)
    loop.thread.kick()
    assert disk.writing.wait(WAIT_S)
    loop.now_s += LATE_S
    written_wait = loop.thread._written.wait

    def written(timeout: float | None = None) -> bool:
        disk.write_gate.set()
        return written_wait(WAIT_S)

    monkeypatch.setattr(loop.thread._written, "wait", written)
    loop.thread.kick()
    assert any(isinstance(each, Write) for each in disk.performed)
    loop.settle()
    assert loop.events == [loop.log.synced]
    loop.thread.close()


def test_the_loop_settles_a_batch_whose_sync_is_late_where_it_stands_aside() -> None:
    loop, _ = looped()
    loop.publish(1)
    loop.thread.kick()
    collect = loop.calls.get(timeout=WAIT_S)  # it has ended, and the loop has not come to it
    for _ in range(2):
        assert is_writing(loop), "not late yet"
        loop.now_s += LATE_S
        loop.thread.kick()
    loop.now_s += SYNC_LATE_S
    loop.thread.kick()
    assert (loop.thread.state, loop.events) == (DiskState.IDLE, [loop.log.synced])
    collect()
    assert len(loop.events) == 1
    loop.thread.close()


def test_the_loop_stands_aside_for_a_long_sync_now_and_then() -> None:
    loop, disk = looped()
    disk.gate.clear()
    loop.publish(1)
    loop.thread.kick()
    assert disk.reached.wait(WAIT_S)
    loop.now_s += SYNC_LATE_S
    loop.thread.kick()
    disk.gate.set()
    collect = loop.calls.get(timeout=WAIT_S)
    loop.thread.kick()
    assert is_writing(loop), "it has just stood aside"
    loop.now_s += SYNC_ASIDE_EVERY_S
    loop.thread.kick()
    assert not is_writing(loop)
    collect()
    loop.thread.close()


def test_a_failure_on_the_loop_is_one() -> None:
    loop, disk = synced_loop()
    disk.fail_at(2, errno.EIO)
    loop.publish(2)
    loop.thread.kick()
    assert isinstance(loop.events[-1], DiskFailed)
    assert loop.log.synced < loop.log.tail
    loop.thread.close()


@pytest.mark.parametrize("takes_syncs", [False, True])
def test_acks_alone_are_written_and_synced_later(takes_syncs: bool) -> None:
    loop, disk = synced_loop(takes_syncs=takes_syncs)
    loop.ack(1)
    synced = loop.log.synced
    loop.thread.kick()
    loop.settle()
    assert [type(each) for each in disk.performed] == [Write]
    assert loop.log.synced == synced < loop.log.tail
    assert len(loop.events) == 1, "nothing was promised, and nobody is told"
    [(seconds, later)] = loop.timers
    assert seconds == ACKS_UNSYNCED_S
    later()
    loop.settle()
    assert [type(each) for each in disk.performed] == [Write, Sync]
    assert loop.events[-1] == loop.log.synced == loop.log.tail
    loop.thread.close()


@pytest.mark.parametrize("takes_syncs", [False, True])
@pytest.mark.parametrize("failing", range(1, 5))
def test_an_error_in_the_last_batch_of_a_clean_stop_is_told_and_makes_the_next_start_unclean(
    failing: int, takes_syncs: bool
) -> None:
    loop, disk = synced_loop(takes_syncs=takes_syncs)
    loop.publish(2)
    loop.thread.kick()
    loop.settle()
    told = len(loop.events)
    disk.fail_at(failing, errno.EIO)
    loop.thread.close()
    assert [type(each) for each in loop.events[told:]] == [DiskFailed]
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk)
    assert not recovered.stopped, "the file was not cut for good, and that is the mark"
    assert not recovered.damage.damaged
    assert sequences(recovered) == [1, 2]


def test_a_clean_stop_syncs_acks() -> None:
    loop, disk = synced_loop()
    loop.ack(1)
    loop.thread.kick()
    loop.thread.close()
    disk.crash(Crash.DROP)
    _, recovered = open_log(disk)
    assert recovered.clean
    assert sequences(recovered) == []
    loop.timers[0][1]()  # late, and harmless


def test_batches_that_were_cut_follow_each_other() -> None:
    disk = GatedDisk()
    log, _ = open_log(disk, segment_bytes=1 << 20, batch_bytes=1_000)
    loop = DiskLoop(log, disk)
    for sequence in range(1, 50):
        loop.publish(sequence, size=100)
    loop.thread.kick()
    loop.settle()
    assert loop.log.synced == loop.log.tail
    ends = [event for event in loop.events if isinstance(event, int)]
    assert ends == sorted(set(ends))
    assert len(loop.events) > 5
    loop.thread.close()
