from __future__ import annotations

from pathlib import Path

import pytest

from interop.suites.verdict import Result, judge, known_differences

THERE = {
    "a": Result("passed", True),
    "b": Result("passed", True),
    "c": Result("failed", True),
    "d": Result("passed", False),
}


def test_what_passes_there_and_fails_here_is_a_regression() -> None:
    here = {**THERE, "b": Result("failed", True)}
    verdict = judge("s", THERE, here, {})
    assert verdict.regressions == ("b",)
    assert not verdict.is_good
    assert (verdict.tests, verdict.passed_there, verdict.passed_here) == (4, 3, 2)
    assert verdict.need_broker == 3


def test_a_test_that_is_missing_here_or_skipped_is_one_too() -> None:
    here = {"a": Result("skipped", False), "c": THERE["c"], "d": THERE["d"]}
    assert judge("s", THERE, here, {}).regressions == ("a", "b")


def test_a_reason_excuses_and_is_a_fault_when_it_is_not_needed() -> None:
    here = {**THERE, "b": Result("failed", True)}
    excused = judge("s", THERE, here, {"b": "because"})
    assert excused.is_good
    assert excused.on_purpose == 1
    assert judge("s", THERE, THERE, {"b": "because"}).unneeded == ("b",)
    assert judge("s", THERE, here, {"b": "because", "gone": "x"}).unneeded == ("gone",)


def test_more_that_passes_here_is_fine() -> None:
    assert judge("s", THERE, {**THERE, "c": Result("passed", True)}, {}).is_good


def test_an_entry_needs_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[s]\n"a" = " "\n')
    with pytest.raises(ValueError, match="s: a has no reason"):
        known_differences(file)
    assert isinstance(known_differences(), dict)
