from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random

import pytest

from reference_broker.runtime.disk.system_calls import SYSTEM, FileCalls
from reference_broker.simulation.disk.fake_system import DESCRIPTORS, FakeSystem
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PowerCut, PoweredDisk

FOLDER = Path("/simulated")
A, B = FOLDER / "a", FOLDER / "b"
WRITES = os.O_RDWR | os.O_CREAT


def system(short_chance: float = 0.0) -> tuple[FakeSystem, PoweredDisk]:
    disk = PoweredDisk(Random(0))
    return FakeSystem(disk, Random(0), short_chance), disk


def fake(tmp_path: Path) -> tuple[FileCalls, Path]:
    return system()[0], FOLDER


def real(tmp_path: Path) -> tuple[FileCalls, Path]:
    return SYSTEM, tmp_path


@pytest.mark.parametrize("of", [fake, real])
def test_it_does_what_the_real_one_does(of: object, tmp_path: Path) -> None:
    assert callable(of)
    calls, folder = of(tmp_path)
    said: list[object] = [calls.make_directory(folder)]
    descriptor = calls.open(folder / "a", WRITES, 0o600)
    calls.posix_fallocate(descriptor, 0, 8)
    said += [calls.fstat(descriptor).st_size, calls.pwrite(descriptor, b"one", 2)]
    said += [calls.pread(descriptor, 100, 1), calls.pread(descriptor, 1, 8)]
    calls.begin_writing_out(descriptor, 0, 5)
    calls.sync_file(descriptor)
    calls.replace(folder / "a", folder / "b")
    calls.pwrite(descriptor, b"two", 5)
    calls.ftruncate(descriptor, 7)
    said += [calls.listdir(folder) == ["b"], calls.stat(folder / "b").st_size]
    again = calls.open(folder / "b", os.O_RDONLY)
    said.append(calls.pread(again, 100, 0))
    calls.unlink(folder / "b")
    said.append(calls.pread(again, 100, 0))
    for each in (descriptor, again):
        calls.close(each)
    directory = calls.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    calls.fsync(directory)
    calls.close(directory)
    for path in (folder / "a", folder / "b"):
        with pytest.raises(FileNotFoundError):
            calls.open(path, os.O_RDWR)
        with pytest.raises(FileNotFoundError):
            calls.unlink(path)
        with pytest.raises(FileNotFoundError):
            calls.stat(path)
    whole, found = b"\0\0onetw", calls.statvfs(folder)
    lists = of is real  # the other one lists the lock, too, which nobody made here
    assert said == [False, 8, 3, b"\0one\0\0\0", b"", lists, 7, whole, whole]
    assert found.f_bavail * found.f_frsize > 0


def test_a_file_that_is_begun_again_is_empty() -> None:
    calls, disk = system()
    first = calls.open(A, WRITES)
    calls.pwrite(first, b"old", 0)
    calls.open(A, WRITES | os.O_TRUNC)
    assert disk.size("a") == 0


def test_what_is_not_synced_goes_with_the_power() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    calls.pwrite(descriptor, b"synced", 0)
    calls.sync_file(descriptor)
    calls.pwrite(descriptor, b"lost", 6)
    calls.open(B, WRITES)
    disk.crash(Crash.DROP)
    assert disk.list_files() == [], "their names are not"
    directory = calls.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY)
    descriptor = calls.open(A, WRITES)
    calls.pwrite(descriptor, b"synced", 0)
    calls.sync_file(descriptor)
    calls.fsync(directory)
    calls.pwrite(descriptor, b"lost", 6)
    disk.crash(Crash.DROP)
    assert disk.read("a") == b"synced"


def test_descriptors_are_few_and_each_is_the_lowest_that_is_free() -> None:
    calls, disk = system()
    opened = [calls.open(A, WRITES) for _ in range(DESCRIPTORS)]
    with pytest.raises(OSError) as refused:
        calls.open(A, os.O_RDONLY)
    assert refused.value.errno == errno.EMFILE
    calls.close(opened[2])
    assert calls.open(A, os.O_RDONLY) == opened[2]
    calls.process_ended()
    assert calls.open_files == []
    disk.no_descriptors = True
    with pytest.raises(OSError) as refused:
        calls.open(B, WRITES)
    assert refused.value.errno == errno.ENFILE
    assert disk.list_files() == ["a"], "nothing of it was done"


def test_what_is_not_open_is_no_business_of_the_process() -> None:
    calls, _ = system()
    descriptor = calls.open(A, WRITES)
    calls.close(descriptor)
    for call in (calls.close, calls.sync_file, calls.fstat):
        with pytest.raises(AssertionError, match="not open"):
            call(descriptor)
    with pytest.raises(AssertionError, match="for reading"):
        calls.pwrite(calls.open(A, os.O_RDONLY), b"x", 0)


def test_calls_fail_by_their_number_and_leave_what_was() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    disk.fail_at(2)
    calls.pwrite(descriptor, b"one", 0)
    with pytest.raises(OSError, match="simulated"):
        calls.pwrite(descriptor, b"two", 0)
    assert disk.read("a") == b"one"
    disk.fail_at(1)
    with pytest.raises(OSError):
        calls.sync_file(descriptor)
    calls.sync_file(descriptor)
    directory = calls.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY)
    calls.fsync(directory)
    disk.crash(Crash.DROP)
    assert disk.read("a") == bytes(3), "after a failed sync the cache lies"


def test_the_power_fails_between_two_calls() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    disk.cut_power_at(2)
    calls.pwrite(descriptor, b"one", 0)
    with pytest.raises(PowerCut):
        calls.sync_file(descriptor)


def test_a_close_that_fails_has_closed_and_lost_what_was_not_synced() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    calls.pwrite(descriptor, b"lost", 0)
    disk.close_fails = True
    calls.close(calls.open(A, os.O_RDONLY))
    with pytest.raises(OSError, match="close"):
        calls.close(descriptor)
    assert calls.open_files == []
    calls.sync_file(calls.open(A, WRITES))
    disk.crash(Crash.KEEP)
    assert disk.read("a") == bytes(4)


def test_a_full_disk_refuses_growth_and_a_reservation_goes_as_far_as_it_does() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    calls.pwrite(descriptor, b"four", 0)
    disk.capacity_bytes = 5
    calls.pwrite(descriptor, b"FOUR", 0)
    for refused in (
        lambda: calls.pwrite(descriptor, b"xx", 4),
        lambda: calls.ftruncate(descriptor, 90),
        lambda: calls.posix_fallocate(descriptor, 0, 90),
    ):
        with pytest.raises(OSError) as failed:
            refused()
        assert failed.value.errno == errno.ENOSPC
    assert 4 <= disk.size("a") <= 90
    disk.full = True
    with pytest.raises(OSError, match="full"):
        calls.open(B, WRITES)


def test_reads_and_writes_are_short_but_never_of_nothing() -> None:
    calls, disk = system(short_chance=1.0)
    descriptor = calls.open(A, WRITES)
    data = bytes(range(1, 101))
    sizes = [calls.pwrite(descriptor, data, 0) for _ in range(50)]
    assert 1 <= min(sizes) < max(sizes) <= 99
    assert disk.read("a") == data[: max(sizes)]
    reads = [len(calls.pread(descriptor, 50, 0)) for _ in range(50)]
    assert 1 <= min(reads) < max(reads) <= 49
    assert (disk.counts["short writes"], disk.counts["short reads"]) == (50, 50)
    assert calls.pwrite(descriptor, b"x", 0) == 1


def test_one_file_can_not_be_read_for_a_while() -> None:
    calls, disk = system()
    descriptor = calls.open(A, WRITES)
    disk.unreadable = "a"
    with pytest.raises(OSError, match="read"):
        calls.pread(descriptor, 1, 0)
    assert disk.failed_reads == 1


def test_one_process_at_a_time_has_the_lock() -> None:
    calls, _ = system()
    lock = calls.open(FOLDER / "lock", WRITES)
    calls.lock(lock)
    with pytest.raises(BlockingIOError):
        calls.lock(calls.open(FOLDER / "lock", WRITES))
    calls.close(lock)
    calls.lock(calls.open(FOLDER / "lock", WRITES))
    calls.process_ended()
    calls.lock(calls.open(FOLDER / "lock", WRITES))
