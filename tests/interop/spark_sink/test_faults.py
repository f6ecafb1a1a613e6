"""The marks that faults leave."""

from __future__ import annotations

from pathlib import Path

from interop.spark_sink.faults import go, pauses, pids_of_pauses, starts_of


def mark(folder: Path, name: str, pid: int) -> None:
    (folder / name).write_text(str(pid))


def test_a_task_is_begun_as_often_as_there_are_starts(tmp_path: Path) -> None:
    for name, pid in (("start-1-aa", 7), ("start-1-bb", 8), ("start-10-cc", 9)):
        mark(tmp_path, name, pid)
    assert len(starts_of(tmp_path, 1)) == 2
    assert len(starts_of(tmp_path, 10)) == 1
    assert starts_of(tmp_path, 0) == []


def test_who_pauses_waits_until_it_may_go(tmp_path: Path) -> None:
    mark(tmp_path, "unfinished-pause-0-aa", 7)
    assert pauses(tmp_path) == []
    mark(tmp_path, "pause-1-bb", 7)
    mark(tmp_path, "pause-2-cc", 8)
    assert pauses(tmp_path) == ["1-bb", "2-cc"]
    assert pids_of_pauses(tmp_path) == {7, 8}
    go(tmp_path, "1-bb")
    assert pauses(tmp_path) == ["2-cc"]
