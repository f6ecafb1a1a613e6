"""mqkit_bench.data_folder: sizes, file systems, and the page cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from mqkit_bench import data_folder as module
from mqkit_bench.data_folder import data_folder, disk_kind, evict, file_system, usage


def test_file_systems_are_told_apart() -> None:
    assert file_system(Path("/proc/self")) == "proc"
    assert file_system(Path(os.getcwd())) not in {"proc", "unknown"}


def test_a_file_system_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "file_system", lambda _: "tmpfs")
    with pytest.raises(typer.BadParameter, match="set TMPDIR"):
        disk_kind()


def test_use_is_size_and_blocks(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "dense").write_bytes(b"x" * 10_000)
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 20)
    found = usage(tmp_path)
    assert (found.files, found.size_bytes) == (2, 10_000 + (1 << 20))
    assert 10_000 <= found.allocated_bytes < 1 << 20


def test_eviction_keeps_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10_000)
    evict(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"x" * 10_000


def test_a_folder_goes_and_too_large_a_wish_is_refused() -> None:
    with data_folder() as folder:
        assert folder.is_dir()
        (folder / "file").write_bytes(b"x")
    assert not folder.exists()
    with pytest.raises(typer.BadParameter, match="GiB free"), data_folder(1 << 60):
        pass
