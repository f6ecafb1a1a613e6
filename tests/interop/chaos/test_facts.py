"""Writing facts, and reading them."""

from __future__ import annotations

import time
from pathlib import Path

from interop.chaos.facts import FactsFile, read


def test_what_is_written_is_read(tmp_path: Path) -> None:
    before = time.monotonic()
    with FactsFile(tmp_path / "a") as facts:
        facts.write("publish", id="p1-0", queue="work.1")
        facts.write("outcome", id="p1-0", was="Confirmed")
    first, second = read(tmp_path / "a")
    assert first["fact"] == "publish"
    assert first["queue"] == "work.1"
    assert before - 1e-6 <= first["t"] <= second["t"]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"t":1,"fact":"publish"}\n{"t":2,"fa')
    assert list(read(tmp_path / "a")) == [{"t": 1, "fact": "publish"}]


def test_no_file_has_no_facts(tmp_path: Path) -> None:
    assert list(read(tmp_path / "a")) == []


def test_facts_are_added_to_a_file_that_is_there(tmp_path: Path) -> None:
    for number in range(2):
        with FactsFile(tmp_path / "a") as facts:
            facts.write("found", number=number)
    assert [fact["number"] for fact in read(tmp_path / "a")] == [0, 1]


def test_a_flush_is_enough_for_a_reader(tmp_path: Path) -> None:
    with FactsFile(tmp_path / "a") as facts:
        facts.write("found")
        facts.flush()
        assert len(list(read(tmp_path / "a"))) == 1
