"""``retry:`` as it is read, and the faults that are told of it."""

from __future__ import annotations

import pytest

from mqkit.retry import ErrorRule, Growth, RetryPolicy, Then
from mqkit.topology.exporting.emit import emit
from mqkit.topology.file.read import check, loads
from mqkit.topology.model import QueueModel, Topology


def read(retry: str) -> RetryPolicy:
    queue = loads(f"queues:\n  q:\n    retry: {retry}\n").queue("q")
    assert queue is not None
    assert queue.retry is not None
    return queue.retry


def said(retry: str) -> list[str]:
    return [fault.show("t.yaml") for fault in check(f"queues:\n  q:\n    retry: {retry}\n")[1]]


ISSUE = (
    "{after: [10s, 30s, 60s, 120s, 300s], then: park,"
    " errors: {TimeoutError: [1s, 5s], InvalidAddress: park, shop.Gone: drop}}"
)
GROWING = "{from: 1s, factor: 2, most: 5m, times: 8, jitter: 0.2, give_up_after: 1h}"


def test_rules_by_exception() -> None:
    assert read(ISSUE) == RetryPolicy(
        (10_000, 30_000, 60_000, 120_000, 300_000),
        Then.PARK,
        (
            ErrorRule("TimeoutError", (1_000, 5_000)),
            ErrorRule("InvalidAddress", Then.PARK),
            ErrorRule("shop.Gone", Then.DROP),
        ),
    )


def test_growth_with_jitter_and_an_end() -> None:
    growth = Growth(1_000, 8, 2, 300_000, 0.2)
    assert read(GROWING) == RetryPolicy(growth.after, growth=growth, give_up_after_ms=3_600_000)
    assert read("{from: 1s, times: 3}") == RetryPolicy.growing("1s", times=3)
    assert read("{from: 1s, times: 3, factor: 1.5}").after == (1_000, 1_500, 2_250)


def test_in_python_the_same_policies_are_made_of_text() -> None:
    errors = {"TimeoutError": ["1s", "5s"], "InvalidAddress": "park", "shop.Gone": "drop"}
    assert read(ISSUE) == RetryPolicy.of("10s", "30s", "60s", "120s", "300s", errors=errors)
    made = RetryPolicy.growing("1s", most="5m", times=8, jitter=0.2, give_up_after="1h")
    assert read(GROWING) == made


@pytest.mark.parametrize(
    "retry",
    [
        *(ISSUE, GROWING, "{from: 1s, times: 3, factor: 1.25, then: drop}"),
        "{after: [1s, 1s], then: drop, give_up_after: 90s}",
        '{after: [1s], errors: {"a.<locals>.B": [1s]}}',
        '{after: [1s, 5s], park: "a lot", tiers: "email-queue.wait.{after}"}',
    ],
)
def test_it_is_written_as_it_is_read(retry: str) -> None:
    topology = Topology(queues=(QueueModel("q", retry=read(retry)),))
    assert loads(emit(topology)) == topology


def test_names_of_queues_that_are_there_already() -> None:
    text = '{after: [1s, 5s], park: email-dlq, tiers: "email-queue.wait.{after}"}'
    made = RetryPolicy.of("1s", "5s", park="email-dlq", tiers="email-queue.wait.{after}")
    assert read(text) == made
    assert read("{from: 1s, times: 2, park: lot}") == RetryPolicy.growing("1s", times=2, park="lot")


def test_the_lines_of_names_are_known_to_the_rules_of_meaning() -> None:
    text = "queues:\n  q:\n    retry:\n      after: [30s]\n      park: lot\n      tiers: t\n"
    queue = loads(text).queue("q")
    assert queue is not None
    assert (queue.line_of("retry.park"), queue.line_of("retry.tiers")) == (5, 6)
    queue = loads("queues: {q: }").queue("q")
    assert queue is not None
    assert queue.line_of("retry.park", "retry") == queue.line


def test_it_is_written_in_the_spelling_of_the_documentation() -> None:
    topology = Topology(queues=(QueueModel("q", retry=read(GROWING)),))
    assert "retry: {from: 1s, factor: 2, most: 5m, times: 8, jitter: 0.2, then: park," in (
        emit(topology)
    )


@pytest.mark.parametrize(
    ("retry", "fault"),
    [
        ("{after: [1s], from: 1s}", "queues.q.retry.from: beside 'after': say the waiting times"),
        ("{after: [1s], jitter: 0.2}", "queues.q.retry.jitter: beside 'after'"),
        ("{times: 3}", "queues.q.retry: 'from' is missing (expected the first waiting time"),
        ("{from: 1s}", "queues.q.retry: 'times' is missing (expected the number of retries, 1"),
        ("{from: 1s, times: 33}", "queues.q.retry.times: 33 is not a whole number from 1 to 32"),
        ("{from: 0s, times: 3}", "queues.q.retry.from: '0s' is too short"),
        ("{from: 1s, times: 3, factor: 0.5}", "queues.q.retry.factor: 0.5 is not a number from 1"),
        ("{from: 1s, times: 3, jitter: 1}", "queues.q.retry.jitter: 1 is not a number from 0 to"),
        ("{from: 1s, times: 3, jitter: lots}", "queues.q.retry.jitter: 'lots' is not a number"),
        ("{from: 5s, times: 3, most: 1s}", "queues.q.retry.most: the most, 1s, is not between"),
        ("{from: 1s, times: 11, jitter: 0.2}", "queues.q.retry: a queue has at most 32 retry"),
        ("{after: [1s], give_up_after: soon}", "queues.q.retry.give_up_after: 'soon' is not a"),
        ("{after: [30s], give_up_after: 10s}", "queues.q.retry.give_up_after: give_up_after: 10s"),
        ("{after: [1s], errors: [KeyError]}", "queues.q.retry.errors: a list is not a mapping of"),
        (
            "{after: [1s], errors: {KeyError: 5s}}",
            "queues.q.retry.errors.KeyError: '5s' is not park, drop, or a list of waiting times",
        ),
        (
            "{after: [1s], errors: {KeyError: [5s, 1s]}}",
            "queues.q.retry.errors.KeyError: waiting times must not fall: 1s comes after 5s",
        ),
        (
            "{after: [1s], errors: {KeyError: [1s, soon]}}",
            "queues.q.retry.errors.KeyError[1]: 'soon' is not a duration",
        ),
        ("{after: [1s], errors: {KeyError: []}}", "queues.q.retry.errors.KeyError: a retry policy"),
        (
            "{after: [1s], errors: {Key Error: park}}",
            "queues.q.retry.errors.'Key Error': 'Key Error' is not the name of an exception class",
        ),
        (
            "{after: [1s], then: drop, park: lot}",
            "queues.q.retry.park: 'park: lot' beside 'then: drop': what has used up its retries",
        ),
        ("{after: [1s], park: [lot]}", "queues.q.retry.park: a list is not text"),
        ("{after: [1s], park: ''}", "queues.q.retry.park: 'park' is empty"),
        (
            "{after: [1s, 5s], tiers: later}",
            "queues.q.retry.tiers: the pattern 'later' has no {after}, so it names one tier, and"
            " this policy has 2 (1s, 5s): each waits in a queue of its own, since a queue expires"
            " messages only at its head; write 'later.{after}'",
        ),
        (
            "{after: [1s], tiers: 'q.{wait}'}",
            "queues.q.retry.tiers: the pattern 'q.{wait}' has {wait}: its only placeholder is",
        ),
        (
            f"{{after: [4294967295ms], tiers: '{'q' * 246}{{after}}'}}",
            "queues.q.retry.tiers: 'tiers' makes a name of 258 bytes",
        ),
        ("{after: [1s], error: {}}", "queues.q.retry: unknown key 'error' (did you mean 'errors'"),
    ],
)
def test_a_fault_has_its_line_and_says_what_to_write(retry: str, fault: str) -> None:
    (found,) = said(retry)
    assert found.startswith(f"t.yaml:3: {fault}")


def test_a_fault_of_several_lines_is_told_on_its_own() -> None:
    text = "queues:\n  q:\n    retry:\n      after: [30s]\n      errors:\n        KeyError: soon\n"
    (fault,) = check(text)[1]
    assert fault.line == 6
    text = "queues:\n  q:\n    retry:\n      after: [30s]\n      give_up_after: 1s\n"
    (fault,) = check(text)[1]
    assert fault.line == 5
