from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from reference_broker.runtime.disk.system_calls import SYSTEM, SystemCalls


def test_calls_of_the_system_are_the_functions_of_os_themselves() -> None:
    for name in ("open", "close", "pread", "pwrite", "ftruncate", "fsync", "replace", "unlink"):
        assert getattr(SYSTEM, name) is getattr(os, name)


def test_a_system_without_fallocate_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    with (tmp_path / "a").open("wb") as file, pytest.raises(OSError) as refused:
        SystemCalls.posix_fallocate(file.fileno(), 0, 10)
    assert refused.value.errno == errno.ENOSYS


def test_writing_out_has_nothing_to_say(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(bytes(10_000))
        SYSTEM.begin_writing_out(file.fileno(), 0, 20_000)
    SYSTEM.begin_writing_out(-1, 0, 1)


def test_a_locked_file_can_not_be_locked_again_until_it_is_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT) for _ in range(2))
    SYSTEM.lock(first)
    with pytest.raises(BlockingIOError):
        SYSTEM.lock(second)
    os.close(first)
    SYSTEM.lock(second)
    os.close(second)


def test_a_directory_is_made_once_with_those_above_it(tmp_path: Path) -> None:
    assert SYSTEM.make_directory(tmp_path / "a" / "b")
    assert not SYSTEM.make_directory(tmp_path / "a" / "b")
    assert SYSTEM.listdir(tmp_path / "a") == ["b"]
