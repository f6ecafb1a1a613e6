"""The files of ids."""

from __future__ import annotations

from pathlib import Path

from mqkit_cli.demo.journal import Event, Journal, read_journal


def test_a_line_is_in_the_file_at_once_and_is_read_back(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.write(Event.PROCESSED, "delays", "a\n\u2028b")
        journal.write(Event.PROCESSED, "delays", "a\n\u2028b")
        found = read_journal(tmp_path / "j")
    assert found[Event.PROCESSED] == [("delays", "a\n\u2028b")] * 2
    assert found[Event.CONFIRMED] == []


def test_watchers_count_messages_not_lines(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for queue, identity in (("q", "a"), ("q", "b"), ("other", "a")):
            journal.write(Event.RETRIED, queue, identity)
    assert (journal.messages(Event.RETRIED), journal.lines) == (2, 3)
    assert journal.seen[Event.RETRIED] == {("q", "a"): 1, ("q", "b"): 1, ("other", "a"): 1}


def test_a_folder_without_files_has_no_events(tmp_path: Path) -> None:
    assert read_journal(tmp_path) == {event: [] for event in Event}
