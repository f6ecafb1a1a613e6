"""The judgement of a site's answers, by answers that a test makes."""

from __future__ import annotations

import pytest

from interop.sync.clients import Answers
from interop.sync.judgement import faults

WORKERS = {1: 14, 2: 15}
QUEUED = ["a", "b", "b", "u"]


def answers() -> Answers:
    outcomes = {"a": "Confirmed", "b": "Confirmed", "r": "Rejected", "u": "Unknown"}
    return Answers(outcomes, {}, {1, 2})


def test_outcomes_that_are_true_and_workers_that_stay_are_no_fault() -> None:
    assert faults(answers(), QUEUED, WORKERS, {1: 14, 2: 12}) == []


@pytest.mark.parametrize(
    ("queued", "after", "told"),
    [
        (QUEUED[1:], WORKERS, "request a was confirmed, and its message is lost"),
        ([*QUEUED, "r"], WORKERS, "request r was rejected, and its message is in the queue"),
        ([*QUEUED, "z"], WORKERS, "the message z is in the queue, and nobody has asked for it"),
        (QUEUED, {1: 14}, "workers [1, 2] were there, and [1] are"),
        (QUEUED, {1: 14, 2: 16}, "worker 2 had 15 descriptors, and has 16"),
    ],
)
def test_what_breaks_a_promise_is_seen(queued: list[str], after: dict[int, int], told: str) -> None:
    assert faults(answers(), queued, WORKERS, after) == [told]


def test_a_request_without_an_outcome_and_a_worker_that_answers_nothing_are_seen() -> None:
    hung = answers()
    hung.failures["h"] = "TimeoutError: timed out"
    hung.workers.remove(2)
    assert faults(hung, QUEUED, WORKERS, WORKERS) == [
        "request h has no outcome: TimeoutError: timed out",
        "worker 2 has answered nothing",
    ]
