"""Names of retry tiers that can't be kept, each told with its line."""

from __future__ import annotations

import pytest

from mqkit.topology.file.read import check

RETRY_QUEUE = """\
queues:
  email-queue:
    retry:
      after: [10s]
      tiers: email-retry-queue
  email-retry-queue:
    dead_letter: {exchange: "", key: email-queue}
"""


def said(text: str) -> list[str]:
    return [fault.show("t.yaml") for fault in check(text)[1]]


def test_a_retry_queue_of_per_message_ttls_is_no_tier_and_the_words_say_why_and_what_to_do() -> (
    None
):
    (fault,) = said(RETRY_QUEUE)
    assert fault == (
        "t.yaml:6: queues.email-retry-queue: it has no message_ttl, so its messages bring their own"
        " TTLs, and 'email-queue' names it as its retry tier of 10s: a queue expires messages only"
        " at its head, so there a short wait behind a long one waits for the long one: it can't be"
        " a retry tier. Name tiers of their own, with {after} in the pattern, and let the old queue"
        " drain before it is deleted"
    )


@pytest.mark.parametrize("ttl", ["message_ttl: 10s", "arguments: {x-message-ttl: 10000}"])
def test_a_declared_queue_that_is_equal_to_the_tier_is_taken(ttl: str) -> None:
    assert said(f"{RETRY_QUEUE}    {ttl}\n") == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            f"{RETRY_QUEUE}    message_ttl: 30s\n",
            [
                "t.yaml:6: queues.email-retry-queue: the retry policy of 'email-queue' makes a"
                " queue of this name, and another one: x-message-ttl: is 30000, wanted 10000"
            ],
        ),
        (
            "queues:\n  a:\n    retry: {after: [1s], tiers: a}\n",
            [
                "t.yaml:3: queues.a.retry.tiers: a retry tier can't be the queue itself: name tiers"
                " of their own"
            ],
        ),
        (
            "queues:\n  a:\n    retry: {after: [1s], tiers: t}\n  t: {external: true}\n",
            [
                "t.yaml:4: queues.t: it is a retry tier of 'a', whose waiting time can't be seen"
                " where it is external: take it out of the file (a queue that is there already and"
                " equal stays as it is)"
            ],
        ),
        (
            'queues:\n  a: {retry: {after: [1s, 5s], tiers: "w.{after}"}}\n'
            '  b:\n    retry:\n      after: [5s, 9s]\n      tiers: "w.{after}"\n',
            [
                "t.yaml:6: queues.b.retry.tiers: 'w.5s' is a retry tier of 'a' already, and a tier"
                " goes back to one queue: give this one a pattern of its own"
            ],
        ),
        (
            "queues:\n  a: {retry: {after: [1s]}}\n"
            '  b:\n    retry: {after: [1s], tiers: "a.retry.{after}"}\n',
            [
                "t.yaml:4: queues.b.retry.tiers: 'a.retry.1s' is a retry tier of 'a' already, and a"
                " tier goes back to one queue: give this one a pattern of its own"
            ],
        ),
        (
            "exchanges:\n  x: {delays: [5m]}\n"
            "queues:\n  a:\n    retry: {after: [1s], tiers: x.delay.5m}\n",
            ["t.yaml:5: queues.a.retry: a delay of the exchange 'x' makes the queue 'x.delay.5m'"],
        ),
    ],
)
def test_a_fault_says_which_two_are_in_each_others_way(text: str, faults: list[str]) -> None:
    assert said(text) == faults
