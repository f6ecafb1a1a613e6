"""The ids that a journal names as perhaps twice."""

from __future__ import annotations

import json

from interop.migration.facts import counted_ids


def line(kind: str, *ids: str, with_confirms: bool = True) -> str:
    return json.dumps({"record": kind, "ids": ids, "with_confirms": with_confirms})


def test_windows_without_an_end_count_and_those_with_one_do_not() -> None:
    lines = [line("window", "a"), line("committed"), line("window", "b"), line("begun")]
    assert list(counted_ids(lines)) == ["b"]
    assert list(counted_ids([*lines, line("window", "c"), line("committed")])) == ["b"]
    assert list(counted_ids([line("window", "a"), line("window", "b")])) == ["a", "b"]


def test_a_window_in_a_transaction_never_counts() -> None:
    assert list(counted_ids([line("window", "a", with_confirms=False)])) == []
