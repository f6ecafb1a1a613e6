"""The command hunts what is named and not yet known, and says so by its exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mutants import __main__ as command
from mutants.hunting import Census, Hunt
from mutants.mutant import Mutant


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the mutants that were hunted. One is found after two seeds, unless it was planted
    in portions."""
    names: list[str] = []

    def at_once(mutants: Sequence[Mutant], seeds: int, jobs: int) -> Iterator[Hunt]:
        for mutant in mutants:
            names.append(mutant.name)
            missed = mutant.name.startswith("portions.")
            yield Hunt(mutant.name, "", seeds, {}) if missed else Hunt(mutant.name, "acks", 2, {})

    monkeypatch.setattr(command, "hunted", at_once)
    return names


def test_what_is_named_is_hunted_once(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["store.no_", "--results", str(tmp_path / "results")]
    assert command.main(arguments) == 0
    assert asked == ["store.no_sync", "store.no_directory_sync"]
    assert command.main(arguments) == 0
    assert len(asked) == 2
    out = capsys.readouterr().out
    assert "2 known, 0 to be hunted" in out
    assert "| acks | store 2 | 2 | 2 |" in out


def test_one_that_is_not_found_makes_it_fail(asked: list[str], tmp_path: Path) -> None:
    assert command.main(["portions.", "--results", str(tmp_path / "results")]) == 1


def test_a_name_that_nobody_has_is_refused(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["nobody"]) == 2
    assert "no mutant begins with nobody" in capsys.readouterr().err


def test_a_census_is_printed_and_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_once(mutants: Sequence[Mutant], seeds: int, jobs: int) -> Iterator[Census]:
        for mutant in mutants:
            yield Census(mutant.name, seeds, {"acks": 2})

    monkeypatch.setattr(command, "counted", at_once)
    results = tmp_path / "results"
    arguments = ["--census", "store.no_sync", "--seeds", "7", "--results", str(results)]
    assert command.main(arguments) == 0
    assert "| acks | store.no_sync | 2 of 7 |" in capsys.readouterr().out
    assert not results.exists()
