from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime.disk.data_folder import WRITE_BYTES, WRITE_OUT_BYTES, DataFolder
from reference_broker.runtime.disk.system_calls import SystemCalls
from reference_broker.simulation.disk.system_disk import DIRECTORY, SystemDisk
from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    Piece,
    RenameFile,
    Sync,
    SyncDirectory,
    TruncateFile,
    Write,
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    folder = DataFolder(tmp_path / "data" / "deep")
    yield folder
    folder.close()


def test_it_is_created(folder: DataFolder) -> None:
    assert folder.directory.is_dir()
    assert folder.list_files() == ["lock"]


def test_files_do_as_they_are_told(folder: DataFolder) -> None:
    folder.perform(CreateFile("a", 100))
    assert folder.read("a") == bytes(100)
    folder.perform(Write("a", 10, [b"one", b"", b"two"]))
    folder.perform(Sync("a"))
    folder.perform(CreateFile("b", 10))
    folder.perform(Write("a", 20, [b"three"]))
    assert folder.read("a") == b"onetwo".rjust(16, b"\0").ljust(20, b"\0") + b"three" + bytes(75)
    folder.perform(TruncateFile("a", 16))
    folder.perform(RenameFile("a", "b"))
    folder.perform(SyncDirectory())
    assert folder.read("b").endswith(b"onetwo")
    folder.perform(DeleteFile("b"))
    assert folder.list_files() == ["lock"]


def test_space_is_reserved(folder: DataFolder) -> None:
    folder.perform(CreateFile("a", 1 << 20))
    assert (folder.directory / "a").stat().st_blocks * 512 >= 1 << 20


@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_large_writes_are_split_and_complete(folder: DataFolder, pieces: int) -> None:
    parts: list[Piece] = [
        bytes([index + 1]) * (WRITE_BYTES // 2 + index) for index in range(pieces)
    ]
    folder.perform(CreateFile("a", 10))
    folder.perform(Write("a", 5, parts))
    assert folder.read("a")[5:].rstrip(b"\0") == b"".join(parts)


def test_a_short_write_is_gone_on_with(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite

    def short(descriptor: int, data: memoryview, offset: int) -> int:
        return pwrite(descriptor, data[:7], offset)

    monkeypatch.setattr(SystemCalls, "pwrite", staticmethod(short))
    folder.perform(CreateFile("a", 10))
    folder.perform(Write("a", 0, [b"some more ", b"than seven bytes"]))
    assert folder.read("a") == b"some more than seven bytes"


def test_a_sync_is_an_fdatasync_of_that_file(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def fdatasync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    folder.perform(CreateFile("a", 10))
    folder.perform(CreateFile("b", 10))
    folder.perform(Sync("a"))
    assert synced == [str(folder.directory / "a")]


def test_a_directory_sync_is_an_fsync_of_the_folder(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(SystemCalls, "fsync", staticmethod(fsync))
    folder.perform(SyncDirectory())
    assert synced == [str(folder.directory)]


def test_a_full_disk_leaves_no_file_behind(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        folder.perform(CreateFile("a", 10))
    assert folder.list_files() == ["lock"]


def test_a_file_system_that_cannot_reserve_gets_a_sparse_file(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    folder.perform(CreateFile("a", 10))
    assert folder.read("a") == bytes(10)


def test_a_second_process_is_refused_until_the_first_is_done(folder: DataFolder) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from reference_broker.runtime.disk.data_folder import DataFolder\n"
        "DataFolder(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(folder.directory)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "DataDirectoryLocked" in refused.stderr
    assert "in use by another broker" in refused.stderr
    with pytest.raises(DataDirectoryLocked):
        DataFolder(folder.directory)
    folder.close()
    folder.close()
    assert subprocess.run(command, check=False).returncode == 0


def test_mac_os_gets_a_full_sync(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda fd, command: called.append(command))
    folder.perform(CreateFile("a", 10))
    folder.perform(Sync("a"))
    assert called == [51]


def test_ranges_end_where_the_file_ends(folder: DataFolder) -> None:
    folder.perform(CreateFile("a", 10))
    folder.perform(Write("a", 0, [b"0123456789"]))
    assert folder.read_range("a", 2, 3) == b"234"
    assert folder.read_range("a", 8, 100) == b"89"
    assert folder.read_range("a", 10, 1) == b""
    assert folder.size("a") == 10


def test_a_short_read_is_gone_on_with(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pread = os.pread
    monkeypatch.setattr(
        SystemCalls,
        "pread",
        staticmethod(lambda fd, size, offset: pread(fd, min(size, 3), offset)),
    )
    folder.perform(CreateFile("a", 8))
    folder.perform(Write("a", 0, [b"01234567"]))
    assert folder.read_range("a", 0, 7) == b"0123456"
    assert folder.read_range("a", 0, 100) == b"01234567"


def test_a_file_that_is_gone_cannot_be_read_through_anything_that_was_open(
    folder: DataFolder,
) -> None:
    other = folder.access()
    folder.perform(CreateFile("a", 4))
    folder.perform(Write("a", 0, [b"old."]))
    assert other.read_range("a", 0, 4) == b"old."
    folder.perform(CreateFile("b", 4))
    folder.perform(Write("b", 0, [b"new."]))
    folder.perform(RenameFile("b", "a"))
    assert other.read_range("a", 0, 4) == b"new."
    folder.perform(DeleteFile("a"))
    for access in (folder, other):
        with pytest.raises(FileNotFoundError):
            access.read_range("a", 0, 4)
        with pytest.raises(FileNotFoundError):
            access.size("a")


def test_reading_keeps_no_file_open(folder: DataFolder) -> None:
    folder.perform(CreateFile("a", 4))
    folder.close()
    opened = os.listdir("/proc/self/fd")
    folder.access().read_range("a", 0, 4)
    assert os.listdir("/proc/self/fd") == opened


def test_another_access_writes_by_a_descriptor_of_its_own(folder: DataFolder) -> None:
    other = folder.access()
    folder.perform(CreateFile("a", 4))
    other.perform(CreateFile("b", 4))
    folder.perform(Write("a", 0, [b"aaaa"]))
    other.perform(Write("b", 0, [memoryview(b"bbbb")]))
    other.perform(Sync("b"))
    assert (folder.syncs, other.syncs) == (0, 1)
    assert (folder.read("a"), folder.read("b")) == (b"aaaa", b"bbbb")
    other.close()
    other.close()
    with pytest.raises(DataDirectoryLocked):
        DataFolder(folder.directory)


@pytest.mark.parametrize(
    ("sizes", "calls"),
    [
        ([1_000] * 300, [131_000, 131_000, 38_000]),
        ([4, 2 * WRITE_BYTES, 4], [4, WRITE_BYTES, WRITE_BYTES, 4]),
        ([WRITE_BYTES, 5, WRITE_BYTES - 5, 1], [WRITE_BYTES, WRITE_BYTES, 1]),
        ([WRITE_BYTES + 1, 3], [WRITE_BYTES, 1, 3]),
    ],
    ids=["small pieces", "a large piece between", "just as large", "a large piece first"],
)
def test_a_call_writes_so_much_and_a_large_piece_is_not_joined_to_its_neighbours(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch, sizes: list[int], calls: list[int]
) -> None:
    pieces: list[Piece] = [bytes([number % 255 + 1]) * size for number, size in enumerate(sizes)]
    written: list[int] = []
    pwrite = os.pwrite

    def recorded(descriptor: int, data: memoryview, offset: int) -> int:
        written.append(len(data))
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(SystemCalls, "pwrite", staticmethod(recorded))
    folder.perform(CreateFile("a", 1))
    folder.perform(Write("a", 3, pieces))
    assert folder.read("a") == bytes(3) + b"".join(pieces)
    assert written == calls


def test_the_disk_begins_with_a_large_write_while_there_is_more_of_it(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []

    def begin(descriptor: int, offset: int, size_bytes: int) -> None:
        written = os.pread(descriptor, 1, offset + size_bytes - 1) + os.pread(descriptor, 9, end)
        assert written == b"x", "it goes to the disk when it is written, and the last is not yet"
        begun.append((offset, size_bytes))

    monkeypatch.setattr(SystemCalls, "begin_writing_out", staticmethod(begin))
    folder.perform(CreateFile("a", 1))
    chunks: list[Piece] = [b"x" * (2 * WRITE_BYTES)] * 128
    end = 3 + 2 * WRITE_BYTES * len(chunks)
    folder.perform(Write("a", 3, [*chunks, b"end"]))
    assert begun == [(3 + at, WRITE_OUT_BYTES) for at in range(0, end - 3, WRITE_OUT_BYTES)]
    begun.clear()
    folder.perform(Write("a", 3, [bytes(1_000)] * 5_000))
    assert begun == []


def test_a_spare_is_a_file_like_any_other(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.perform(CreateSpare("spare", 1 << 20))
    assert (folder.directory / "spare").stat().st_blocks * 512 >= 1 << 20
    folder.perform(DeleteFile("spare"))

    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        folder.perform(CreateSpare("spare", 10))
    assert folder.list_files() == ["lock"]


def test_a_spare_grows_and_stays_as_it_was_on_a_full_disk(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.perform(CreateSpare("spare", 10_000))
    folder.perform(CreateSpare("spare", 30_000))
    assert folder.size("spare") == 30_000
    assert (folder.directory / "spare").stat().st_blocks * 512 >= 30_000

    def full(descriptor: int, offset: int, length: int) -> None:
        os.ftruncate(descriptor, 40_000)  # as far as it went
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        folder.perform(CreateSpare("spare", 90_000))
    assert folder.size("spare") == 30_000


def test_free_space_is_what_an_ordinary_user_has(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = os.statvfs(folder.directory)
    monkeypatch.setattr(SystemCalls, "statvfs", staticmethod(lambda _: found))
    assert folder.free_bytes() == found.f_bavail * found.f_frsize > 0


# Over a system that fails


def failing() -> tuple[DataFolder, SystemDisk]:
    disk = SystemDisk(Random(0), Random(0))
    return DataFolder(DIRECTORY, disk.system), disk


def test_a_close_that_fails_has_closed_and_is_told_by_what_needed_it() -> None:
    """The number may be a client's socket by the time that it would be closed again."""
    folder, disk = failing()
    folder.perform(CreateFile("a", 4))
    folder.perform(Write("a", 0, [b"lost"]))
    disk.close_fails = True
    with pytest.raises(OSError, match="close"):
        folder.perform(CreateFile("b", 4))
    folder.perform(CreateFile("b", 4))
    folder.close()
    assert disk.system.open_files == []


def test_the_end_is_not_disturbed_by_a_close_that_fails() -> None:
    folder, disk = failing()
    folder.perform(CreateFile("a", 4))
    folder.perform(Sync("a"))
    disk.close_fails = True
    folder.close()
    assert disk.counts["failed closes"] == 1
    assert disk.system.open_files == []


def test_what_was_read_is_not_lost_with_a_close_that_fails() -> None:
    """An EIO would be taken for damage, and the messages for lost."""
    folder, disk = failing()
    folder.perform(CreateFile("a", 4))
    folder.perform(Write("a", 0, [b"read"]))
    disk.fail_at(1)
    assert folder.access().read_range("a", 0, 4) == b"read"


@pytest.mark.parametrize("call", range(1, 5))
def test_a_creation_that_fails_anywhere_leaves_no_descriptor(call: int) -> None:
    """At the open, the reservation, what undoes it, and the close."""
    folder, disk = failing()
    disk.capacity_bytes = 2
    disk.fail_at(call)
    opened = disk.system.open_files
    with pytest.raises(OSError, match=r"simulated"):
        folder.perform(CreateSpare("a", 4))
    assert disk.system.open_files == opened
