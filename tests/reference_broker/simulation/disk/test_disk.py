from __future__ import annotations

import errno
from random import Random

import pytest

from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.medium import SECTOR_BYTES, Crash
from reference_broker.store.disk.ports import (
    CreateFile,
    DeleteFile,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)


def disk_with(*names: str, seed: int = 0) -> SimulatedDisk:
    """Files of 2,000 synced zeros."""
    disk = SimulatedDisk(Random(seed))
    for name in names:
        disk.perform(CreateFile(name, 2000))
        disk.perform(Sync(name))
    disk.perform(SyncDirectory())
    return disk


def test_the_process_sees_what_it_wrote() -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 10, [b"one", b"two"]))
    assert disk.read("a")[10:16] == b"onetwo"
    disk.perform(TruncateFile("a", 16))
    assert len(disk.read("a")) == disk.size_bytes == 16


def test_a_crash_drops_what_was_not_synced() -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 0, [b"kept"]))
    disk.perform(Sync("a"))
    disk.perform(Write("a", 4, [b"lost"]))
    disk.crash(Crash.DROP)
    assert disk.read("a")[:8] == b"kept\0\0\0\0"


def test_a_crash_may_keep_everything() -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 4, [b"kept"]))
    disk.perform(CreateFile("b", 5))
    disk.crash(Crash.KEEP)
    assert disk.read("a")[:8] == b"\0\0\0\0kept"
    assert disk.read("b") == bytes(5)


@pytest.mark.parametrize("torn_at", range(5))
def test_a_crash_may_tear_the_last_write_at_any_byte(torn_at: int) -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 0, [b"first"]))
    disk.perform(Write("a", 5, [b"last"]))
    disk.crash(Crash.TEAR_LAST, torn_at)
    assert disk.read("a")[:9] == b"first" + b"last"[:torn_at].ljust(4, b"\0")


def test_a_crash_may_keep_any_sectors() -> None:
    seen = set()
    for seed in range(60):
        disk = disk_with("a", seed=seed)
        disk.perform(Write("a", SECTOR_BYTES - 1, [b"x" * (SECTOR_BYTES + 2)]))
        disk.crash(Crash.SUBSET)
        content = disk.read("a")
        edges = (SECTOR_BYTES - 1, SECTOR_BYTES, 2 * SECTOR_BYTES)
        seen.add(tuple(content[edge : edge + 1] == b"x" for edge in edges))
    assert len(seen) == 8


def test_names_are_durable_by_a_directory_sync_only() -> None:
    disk = disk_with("a", "b", "c")
    disk.perform(DeleteFile("a"))
    disk.perform(RenameFile("b", "c"))
    disk.perform(CreateFile("d", 1))
    disk.perform(Sync("d"))
    assert sorted(disk.list_files()) == ["c", "d"]
    disk.crash(Crash.DROP)
    assert sorted(disk.list_files()) == ["a", "b", "c"]


def test_any_subset_of_names_may_survive_but_a_rename_is_atomic() -> None:
    seen = set()
    for seed in range(60):
        disk = disk_with("a", "b", seed=seed)
        disk.perform(DeleteFile("a"))
        disk.perform(RenameFile("b", "c"))
        disk.crash(Crash.SUBSET)
        seen.add(tuple(sorted(disk.list_files())))
    assert seen == {("a", "b"), ("a", "c"), ("b",), ("c",)}


def test_the_chosen_operation_fails_and_does_nothing() -> None:
    disk = disk_with("a")
    disk.fail_at(2, errno.ENOSPC)
    disk.perform(Write("a", 0, [b"one"]))
    with pytest.raises(OSError) as failure:
        disk.perform(CreateFile("b", 1))
    assert failure.value.errno == errno.ENOSPC
    assert disk.list_files() == ["a"]
    disk.perform(CreateFile("b", 1))


def test_after_a_failed_sync_the_cache_lies_and_later_syncs_do_not_help() -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 0, [b"data"]))
    disk.fail_at(1)
    with pytest.raises(OSError):
        disk.perform(Sync("a"))
    disk.perform(Sync("a"))
    assert disk.read("a")[:4] == b"data"
    disk.crash(Crash.DROP)
    assert disk.read("a")[:4] == bytes(4)


def test_a_flipped_bit_stays_flipped() -> None:
    disk = disk_with("a")
    disk.flip("a", 9)
    disk.crash(Crash.DROP)
    assert disk.read("a")[:3] == b"\0\2\0"


def test_the_same_seed_gives_the_same_crash() -> None:
    contents = []
    for _ in range(2):
        disk = disk_with("a", seed=5)
        disk.perform(Write("a", 0, [bytes(range(1, 251)) * 8]))
        disk.crash(Crash.SUBSET)
        contents.append(disk.read("a"))
    assert contents[0] == contents[1]


def test_a_copy_is_what_a_crash_would_leave_and_lives_on_its_own() -> None:
    disk = disk_with("a")
    disk.perform(Write("a", 0, [b"synced"]))
    disk.perform(Sync("a"))
    disk.perform(Write("a", 0, [b"not yet"]))
    disk.perform(CreateFile("b", 5))
    copy = disk.copy()
    assert copy.list_files() == disk.list_durable_files() == ["a"]
    assert copy.read("a")[:7] == b"synced\0"
    copy.perform(Write("a", 0, [b"other"]))
    copy.perform(DeleteFile("a"))
    assert disk.read("a")[:7] == b"not yet"


def test_what_was_reserved_is_all_there_is() -> None:
    disk = disk_with("a")
    with pytest.raises(AssertionError, match="reserved"):
        disk.perform(Write("a", 1_999, [b"xy"]))


def test_a_healed_copy_has_no_bit_flipped() -> None:
    disk = disk_with("a")
    assert not disk.rotten
    disk.flip("a", 5)
    assert disk.rotten
    assert disk.read("a")[0] == disk.copy().read("a")[0] == 1 << 5
    assert disk.copy(healed=True).read("a")[0] == 0
    assert disk.read("a")[0] == 1 << 5


def test_what_is_not_there_can_not_be_deleted() -> None:
    with pytest.raises(FileNotFoundError):
        SimulatedDisk().perform(DeleteFile("a"))
