"""Each law of calls catches what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from interop.chaos.checker import calls
from interop.chaos.checker.sample import GoodRun, a, a_number, right_end_of
from interop.chaos.checker.verdict import Verdict
from interop.chaos.questions import Way, answer_of, complaint_of

OTHER = 7


@pytest.fixture
def good() -> GoodRun:
    return GoodRun()


def said(verdict: Verdict) -> list[str]:
    return [offence.text for offence in verdict.offences]


def test_a_good_run_offends_none_of_them(good: GoodRun) -> None:
    history = good.history
    for law in (calls.is_its_own, calls.ends_in_time, calls.begins_before_the_deadline):
        verdict = law(history)
        assert said(verdict) == []
        assert verdict.judged > 100


@pytest.mark.parametrize("way", list(Way))
def test_the_right_end_of_each_way_is_right(good: GoodRun, way: Way) -> None:
    good.call(a_number(way), 5.0)
    assert said(calls.is_its_own(good.history)) == []


@pytest.mark.parametrize(
    ("way", "end"),
    [
        (Way.ANSWER, {"fact": "answered", "answer": answer_of(OTHER)}),
        (Way.ANSWER, {"fact": "answered", "answer": None}),
        (Way.ANSWER, right_end_of(a_number(Way.RAISE))),
        (Way.RAISE, {"fact": "remote error", "kind": "LookupError", "text": complaint_of(OTHER)}),
        (Way.RAISE, {"fact": "answered", "answer": answer_of(a_number(Way.RAISE))}),
        (Way.PARK, {"fact": "remote error", "kind": "LookupError",
                    "text": complaint_of(a_number(Way.PARK))}),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_its_own(good: GoodRun, way: Way, end: dict[str, Any]) -> None:
    good.call(a_number(way), 5.0, end=end)
    assert len(said(calls.is_its_own(good.history))) == 1


def test_a_call_that_ends_after_its_deadline(good: GoodRun) -> None:
    number = a_number(Way.ANSWER)
    good.call(number, 5.0, takes_s=1.15)
    assert said(calls.ends_in_time(good.history)) == [
        f"the call {number} ended 0.150 s after its deadline"
    ]


def test_a_call_that_is_late_with_the_whole_process(good: GoodRun) -> None:
    good.call(a_number(Way.ANSWER), 5.0, takes_s=1.15)
    good.app.append(a(5.2, "starved", since=5.1, own_cpu_s=0.0))
    verdict = calls.ends_in_time(good.history)
    assert said(verdict) == []
    assert verdict.counted_out.total() == 1


def test_a_call_that_never_ends(good: GoodRun) -> None:
    good.app.append(a(5.0, "call", number=10_000, caller=0, deadline_s=1.0, id="q-0"))
    assert said(calls.ends_in_time(good.history)) == ["the call 10000 has not ended"]


@pytest.mark.parametrize(
    ("error", "text", "offences"),
    [
        ("DeadlineExceeded", "no answer from '' 'ask' within 1 s", 0),
        ("ConnectionLost", "reset by peer", 0),
        ("CallRejected", "the question was rejected as unroutable", 0),
        ("ConnectionLost", "", 1),
        ("InvalidStateError", "invalid state", 1),
        ("Closed", "the client is closed", 1),
        ("BodyMisfit", "not an int", 1),
    ],
)
def test_the_errors_that_a_call_may_end_with(
    good: GoodRun, error: str, text: str, offences: int
) -> None:
    end = {"fact": "call failed", "error": error, "text": text}
    good.call(a_number(Way.ANSWER), 5.0, end=end)
    assert len(said(calls.ends_in_time(good.history))) == offences


def test_a_handler_that_begins_after_the_deadline(good: GoodRun) -> None:
    number = a_number(Way.ANSWER)
    good.call(number, 5.0, begins_after_s=1.1)
    assert said(calls.begins_before_the_deadline(good.history)) == [
        f"the handler of question {number} began 0.100 s after the deadline"
    ]


def test_a_question_that_nobody_asked(good: GoodRun) -> None:
    good.app.append(a(5.0, "question", number=10_000, wall_ms=0))
    assert len(said(calls.begins_before_the_deadline(good.history))) == 1
