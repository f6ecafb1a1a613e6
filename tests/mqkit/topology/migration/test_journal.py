"""The journal: written, cut short, read again."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from mqkit.declaration import Binding, Queue
from mqkit.errors import ConfigurationError
from mqkit.topology.migration.journal import Journal, journal_path, read_journal
from mqkit.topology.migration.migration import Migration
from mqkit.topology.migration.progress import Progress
from mqkit.topology.migration.steps import Event, Step

MIGRATION = Migration("/", Queue("q"), Queue("q", durable=False), Queue("q.migrating"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def written(path: Path) -> Progress:
    """A journal with a bit of everything; returns the progress that it had in the end."""
    journal = Journal.opened(path)
    assert journal.is_new
    journal.begin(MIGRATION)
    journal.begun(Step.DECLARE)
    journal.done(Step.DECLARE, Event.DONE)
    journal.window("q", "q.migrating", ["a", None], with_confirms=False)
    journal.committed(2)
    journal.bound(Binding("x", "q", "k"))
    journal.lost(1)
    journal.remark("well")
    journal.begun(Step.GATE)
    journal.close()
    return journal.progress


def test_it_says_again_what_was_written(path: Path) -> None:
    progress = written(path)
    assert (progress.step, progress.moved, progress.lost) == (Step.GATE, 2, 1)
    assert progress.migration.bindings == (Binding("x", "q", "k"),)
    again = Journal.opened(path)
    assert again.progress == progress
    again.close()
    assert read_journal(path) == progress


def test_only_its_owner_may_read_it(path: Path) -> None:
    written(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_record_is_on_the_disk_before_it_is_told(path: Path) -> None:
    journal = Journal.opened(path)
    lines: list[int] = []
    journal.on_record = lambda record: lines.append(len(path.read_text().splitlines()))
    journal.begin(MIGRATION)
    journal.begun(Step.DECLARE)
    journal.close()
    assert lines == [1, 2]


def test_a_line_that_a_kill_has_cut_short_is_taken_away(path: Path) -> None:
    written(path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (1, len(lines[-1]) // 2, len(lines[-1]) - 1):
        path.write_bytes(whole[:-cut])
        before = read_journal(path)
        journal = Journal.opened(path)
        assert journal.progress == before
        journal.begun(Step.GATE)
        journal.close()
        assert len(path.read_bytes().splitlines()) == len(lines)
        assert read_journal(path) == before


def test_a_window_of_an_earlier_run_stays_in_doubt(path: Path) -> None:
    journal = Journal.opened(path)
    journal.begin(MIGRATION)
    journal.window("q", "q.migrating", ["a"], with_confirms=True)
    journal.close()
    again = Journal.opened(path)
    assert [window.ids for window in again.progress.in_doubt] == [("a",)]
    again.close()


@pytest.mark.parametrize(
    "text",
    ['{"record": "begun", "step": "gate"}\n', "nonsense\n", "[]\n", '{"record": 3}\n', "7\n"],
)
def test_another_file_is_refused_and_left_alone(path: Path, text: str) -> None:
    path.write_text(text)
    for act in (Journal.opened, read_journal):
        with pytest.raises(ConfigurationError, match="1: this is no journal"):
            act(path)
    assert path.read_text() == text


def test_a_place_that_can_t_be_written_is_told(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere" / "journal"):
        with pytest.raises(ConfigurationError, match="can't be"):
            Journal.opened(place)
    assert read_journal(tmp_path / "nothing") is None


@pytest.mark.parametrize("queue", ["orders", "../../etc/x", "a/b", "é", "q" * 255, "%2F" * 80])
def test_a_journal_lies_beside_the_file_whatever_the_queue_is_called(
    tmp_path: Path, queue: str
) -> None:
    path = journal_path(tmp_path / "topology.yaml", queue)
    assert path.parent == tmp_path
    path.write_text("")


def test_two_queues_have_two_journals(tmp_path: Path) -> None:
    def place(queue: Any) -> Path:
        return journal_path(tmp_path / "t.yaml", queue)

    assert place("a/b") != place("a.b")
    assert place("a/b") != place("a%2Fb")
