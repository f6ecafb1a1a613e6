"""Synced writes, a link that one can win, locks."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mqkit_spark.source.stream.spool.disk import hold, locked, probe, won, write
from mqkit_spark.source.stream.spool.faults import SpoolError


def test_a_file_is_written_whole_and_over_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"first")
    write(path, b"second", synced=False)
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_one_of_many_attempts_wins(tmp_path: Path) -> None:
    path, begin = tmp_path / "00000.arrow", threading.Barrier(8)
    wins: list[int] = []

    def attempt(number: int) -> None:
        own = tmp_path / f"attempt-{number}"
        write(own, str(number).encode())
        begin.wait()
        if won(own, path):
            wins.append(number)

    threads = [threading.Thread(target=attempt, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes()] == [str(number).encode() for number in wins]


def test_a_folder_that_is_gone_takes_no_file(tmp_path: Path) -> None:
    write(tmp_path / "attempt", b"")
    with pytest.raises(FileNotFoundError):
        won(tmp_path / "attempt", tmp_path / "gone" / "00000.arrow")


def test_a_file_system_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    probe(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_that_links_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda source, target: Path(target).write_bytes(b"probe"))
    with pytest.raises(SpoolError, match="lets two link the same name"):
        probe(tmp_path)


def test_one_that_links_never_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(SpoolError, match="can't link, sync or lock files: operation not permitted"):
        probe(tmp_path)


def test_a_lock_is_one_holders_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = hold(path, within_s=0, what="mine")
    waits: list[float] = []
    with (
        pytest.raises(SpoolError, match="it is another's"),
        locked(path, within_s=0, what="it is another's", pause=waits.append),
    ):
        pass
    with locked(path, within_s=60, what="", pause=lambda _: os.close(held)):
        assert waits == []
