"""The judgement, and that it finds what it is there for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from interop.migration.facts import End, Facts
from interop.migration.judgement import faults

END = End("m", {"x": 1}, {"x": 1}, frozenset({("e", "k")}), frozenset({("e", "k")}))


def facts(**handled: int) -> Facts:
    return Facts(published=["a", "b"], handled=Counter(handled), ends=[END])


def test_a_good_run_has_no_faults() -> None:
    assert faults(facts(a=1, b=1)) == []


def test_a_lost_message_is_found() -> None:
    assert faults(facts(a=1)) == ["b was never handled"]


def test_one_that_was_handled_twice_is_found_unless_it_was_counted() -> None:
    run = facts(a=1, b=2)
    assert faults(run) == ["b was handled 2 times, and counted 0"]
    run.counted["b"] = 1
    assert faults(run) == []
    run.handled["b"] = 3
    assert len(faults(run)) == 1


def test_a_message_from_nowhere_is_found() -> None:
    assert faults(facts(a=1, b=1, c=1)) == ["c was handled, and nobody has published it"]


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (replace(END, code=1), "exit code 1"),
        (replace(END, arguments={}), "should have"),
        (replace(END, bindings=frozenset()), "bound by"),
        (replace(END, left=("q.migrating",)), "left over: q.migrating"),
    ],
)
def test_a_bad_end_is_found(end: End, word: str) -> None:
    run = facts(a=1, b=1)
    run.ends.append(end)
    (fault,) = faults(run)
    assert word in fault


def test_what_a_thread_ran_into_is_a_fault() -> None:
    run = facts(a=1, b=1)
    run.unexpected.append("_publish: unroutable")
    assert faults(run) == ["_publish: unroutable"]
