from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime.data_folder import WRITE_BYTES, DataFolder
from reference_broker.store.ports import (
    CreateFile,
    DeleteFile,
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
    parts = [bytes([index + 1]) * (WRITE_BYTES // 2 + index) for index in range(pieces)]
    folder.perform(CreateFile("a", 10))
    folder.perform(Write("a", 5, parts))
    assert folder.read("a")[5:].rstrip(b"\0") == b"".join(parts)


def test_a_short_write_is_gone_on_with(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite

    def short(descriptor: int, data: memoryview, offset: int) -> int:
        return pwrite(descriptor, data[:7], offset)

    monkeypatch.setattr(os, "pwrite", short)
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

    monkeypatch.setattr(os, "fsync", fsync)
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
        "from reference_broker.runtime.data_folder import DataFolder\n"
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
