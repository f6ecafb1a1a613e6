"""The law of going on, and the table of recoveries."""

from __future__ import annotations

import pytest

from interop.chaos.checker.recovery import goes_on, limit_s, recoveries
from interop.chaos.checker.sample import GoodRun, a
from interop.chaos.layout import WORK

CUT_S = 10.0
STALL_S = 20.0
EVERYBODY = ("outcome", "begin")


@pytest.fixture
def good() -> GoodRun:
    return GoodRun()


def said(run: GoodRun) -> list[str]:
    return [offence.text for offence in goes_on(run.history).offences]


def test_a_good_run_goes_on(good: GoodRun) -> None:
    verdict = goes_on(good.history)
    assert verdict.offences == []
    assert verdict.judged == 2 * (8 + 8)  # faults, publishers and queues


@pytest.mark.parametrize(("silent_s", "offences"), [(1.9, 0), (2.5, 16)])
def test_a_silence_after_a_cut(good: GoodRun, silent_s: float, offences: int) -> None:
    good.between(CUT_S, CUT_S + silent_s - 0.2, EVERYBODY)
    assert len(said(good)) == offences


@pytest.mark.parametrize(("silent_s", "offences"), [(5.7, 0), (6.5, 16)])
def test_a_silence_that_only_a_heartbeat_ends(
    good: GoodRun, silent_s: float, offences: int
) -> None:
    good.between(STALL_S, STALL_S + silent_s - 0.2, EVERYBODY)
    assert len(said(good)) == offences


def test_one_queue_that_stays_silent(good: GoodRun) -> None:
    good.app = [
        fact
        for fact in good.app
        if not (fact["fact"] == "begin" and fact["queue"] == WORK[3] and fact["t"] > CUT_S)
    ]
    assert said(good) == [
        "fault 0 (cut): consuming of work.3 was back after 10.00 s",
        "fault 1 (stall): consuming of work.3 was back after 20.00 s",
    ]


def test_a_second_silence_before_the_next_fault_counts(good: GoodRun) -> None:
    good.between(CUT_S + 3, CUT_S + 5, EVERYBODY)
    assert len(said(good)) == 16


def test_the_time_in_which_the_process_was_starved_does_not_count(good: GoodRun) -> None:
    good.between(CUT_S, CUT_S + 2.3, EVERYBODY)
    good.app.append(a(CUT_S + 1.5, "starved", since=CUT_S + 0.5, own_cpu_s=0.0))
    assert said(good) == []


def test_the_table_has_the_longest_times(good: GoodRun) -> None:
    good.between(CUT_S, CUT_S + 1.4, ("outcome",))
    table = recoveries(good.history)
    assert table["cut"].times == 1
    assert 1.4 <= table["cut"].publishing_s <= 1.6
    assert table["cut"].consuming_s <= 0.5


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("cut", 2.0), ("kill -9", 2.0), ("stall", 6.0), ("stall to the broker", 8.0)],
)
def test_only_what_a_heartbeat_tells_of_has_its_limit(kind: str, limit: float) -> None:
    assert limit_s(kind) == limit
