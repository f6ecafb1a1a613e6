"""Results are kept by mutant and code, and a torn file does no harm."""

from __future__ import annotations

from pathlib import Path

from mutants.hunting import Hunt
from mutants.registry import MUTANTS
from mutants.results import CODE, Results, code_version

FIRST, SECOND = list(MUTANTS.values())[:2]


def found(name: str, seeds: int = 3) -> Hunt:
    return Hunt(name, "acks", seeds, {"acks": 1})


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "results"
    Results(path, "code").add(FIRST, found(FIRST.name))
    Results(path, "code").add(SECOND, Hunt(SECOND.name, "", 10, {}))
    again = Results(path, "code").of([FIRST, SECOND], 10)
    assert again == [found(FIRST.name), Hunt(SECOND.name, "", 10, {})]


def test_other_code_has_no_results(tmp_path: Path) -> None:
    path = tmp_path / "results"
    Results(path, "code").add(FIRST, found(FIRST.name))
    assert Results(path, "other code").of([FIRST], 10) == []


def test_a_hunt_that_ended_too_early_or_took_more_seeds_is_not_over(tmp_path: Path) -> None:
    results = Results(tmp_path / "results", "code")
    results.add(FIRST, Hunt(FIRST.name, "", 10, {}))
    results.add(SECOND, found(SECOND.name, seeds=15))
    assert results.of([FIRST, SECOND], 20) == [found(SECOND.name, seeds=15)]
    assert [hunt.mutant for hunt in results.of([FIRST, SECOND], 10)] == [FIRST.name]


def test_a_torn_line_is_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "results"
    Results(path, "code").add(FIRST, found(FIRST.name))
    path.write_text(path.read_text() + '{"key": "half of')
    assert Results(path, "code").of([FIRST], 10) == [found(FIRST.name)]


def test_the_version_is_that_of_all_code(tmp_path: Path) -> None:
    for part in CODE:
        file = tmp_path / part if part.endswith(".py") else tmp_path / part / "a.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1")
    before = code_version(tmp_path)
    assert code_version(tmp_path) == before
    (tmp_path / CODE[0] / "a.py").write_text("2")
    assert code_version(tmp_path) != before
