"""Which messages fail, and until when."""

from __future__ import annotations

import pytest

from mqkit.retry import RetryPolicy, Then
from mqkit_cli.demo.faults import Faults, Verdict

PARKING = Faults(RetryPolicy.of("1s", "5s", "30s"))


def attempts(faults: Faults, number: int, *, bug_is_fixed: bool = False) -> list[Verdict]:
    """The handler's verdict at each attempt, until it needs no other."""
    verdicts: list[Verdict] = []
    while not verdicts or verdicts[-1] is Verdict.FAIL_AND_RETRY:
        verdicts.append(faults.judge(number, len(verdicts), bug_is_fixed=bug_is_fixed))
    return verdicts


def test_most_messages_are_processed_at_once() -> None:
    assert attempts(PARKING, 2) == [Verdict.PROCESS]


@pytest.mark.parametrize(("number", "failures"), [(0, 1), (50, 2), (100, 1)])
def test_some_fail_once_or_twice(number: int, failures: int) -> None:
    assert attempts(PARKING, number) == [*[Verdict.FAIL_AND_RETRY] * failures, Verdict.PROCESS]


def test_some_fail_until_the_bug_is_fixed() -> None:
    assert attempts(PARKING, 101) == [*[Verdict.FAIL_AND_RETRY] * 3, Verdict.FAIL_AND_PARK]
    assert attempts(PARKING, 101, bug_is_fixed=True) == [Verdict.PROCESS]


def test_a_transient_fault_never_ends_parked() -> None:
    once = Faults(RetryPolicy.of("1s"))
    assert attempts(once, 50) == [Verdict.FAIL_AND_RETRY, Verdict.PROCESS]


def test_nothing_is_made_to_fail_where_a_failure_would_lose_it() -> None:
    without = Faults(None)
    dropping = Faults(RetryPolicy.of("1s", then=Then.DROP))
    for number in range(200):
        assert attempts(without, number) == [Verdict.PROCESS]
        assert attempts(dropping, number)[-1] is Verdict.PROCESS
