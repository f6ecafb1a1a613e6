"""Retry queues that do not do what they are for."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Exchange, Queue
from mqkit.delay.compile import compile_delay
from mqkit.retry.compile import compile_parking_lot, compile_tier

GONE, TTL, LEFT = "owner-gone", "message-ttl-retry", "tier-left-over"
DELAY, UNWATCHED = "delay-left-over", "lot-unwatched"
FILE = "queues:\n  q:\n    bind: [{from: amq.topic}]\n    retry: {after: [5s], then: park}\n"


def names(said: Any, *checks: str) -> list[tuple[str, str]]:
    return [key for key in said if key[0] in checks]


def test_a_tier_that_the_policy_has_no_more(of_file: Any, live: Any) -> None:
    there = live(
        *(
            Queue("q"),
            compile_parking_lot("q"),
            compile_tier("q", 5_000),
            compile_tier("q", 60_000),
        ),
        counts={"q.retry.1m": (7, 0)},
    )
    said = of_file(FILE, there)
    assert names(said, LEFT) == [(LEFT, "q.retry.1m")]
    finding = said[LEFT, "q.retry.1m"]
    assert "has no 1m any more; in it: 7 messages" in finding.why
    assert finding.messages == 7
    assert finding.place == "t.yaml:4"
    assert finding.mend.command == "mqkit ctl delete_queue q.retry.1m --if-empty"
    assert finding.mend.first == "wait until it is empty"


def test_a_queue_that_is_declared_as_what_it_is_is_not_left_over(of_file: Any, live: Any) -> None:
    there = live(Queue("q"), compile_tier("q", 60_000))
    text = FILE + '  q.retry.1m: {message_ttl: 1m, dead_letter: {exchange: "", key: q}}\n'
    assert names(of_file(text, there), LEFT) == []


def test_if_empty_is_not_for_quorum_queues(of_file: Any, live: Any) -> None:
    there = live(Queue("q"), compile_tier("q", 60_000, quorum=True))
    mend = of_file(FILE, there)[LEFT, "q.retry.1m"].mend
    assert mend.command == "mqkit ctl delete_queue q.retry.1m"
    assert mend.first == "wait until it is empty"


def test_a_delay_that_the_exchange_has_no_more(of_file: Any, live: Any) -> None:
    there = live(Exchange("x"), *compile_delay("x", 1_000), *compile_delay("x", 5_000))
    said = of_file("exchanges:\n  x: {delays: [1s]}\n", there)
    assert names(said, DELAY) == [(DELAY, "x.delay.5s")]
    assert said[DELAY, "x.delay.5s"].line == 2


@pytest.mark.parametrize("messages", [0, 4])
def test_a_part_whose_owner_is_gone(of_broker: Any, messages: int) -> None:
    parts = (compile_tier("gone", 5_000), compile_parking_lot("gone"))
    counts = {part.name: (messages, 0) for part in parts}
    said = of_broker(*parts, *compile_delay("out", 1_000), counts=counts)
    assert names(said, GONE) == [
        (GONE, name) for name in ("gone.parked", "gone.retry.5s", "out.delay.1s")
    ]
    # It says so once: not as a tier without a target, and not as a queue that nothing reaches.
    unrelated = [key for key in said if key[0] != GONE and not key[1].startswith("out")]
    assert unrelated == []
    command = said[GONE, "gone.retry.5s"].mend.command
    assert ("import-definitions" if messages else "--if-empty") in command


def test_an_owner_that_is_there(of_broker: Any) -> None:
    said = of_broker(Queue("q"), compile_tier("q", 5_000), compile_parking_lot("q"))
    assert names(said, GONE) == []


SEED = (
    "exchanges:\n  email: {}\n  email-dlx: {}\n"
    "queues:\n"
    "  email-queue:\n"
    "    bind: [{from: email, key: send}]\n"
    "    dead_letter: {exchange: email-dlx, key: email-dlq}\n"
    "  email-dlq: {bind: [{from: email-dlx, key: email-dlq}]}\n"
)


def test_a_retry_queue_on_per_message_ttls(of_file: Any) -> None:
    said = of_file(SEED + '  email-retry-queue: {dead_letter: {exchange: "", key: email-queue}}\n')
    assert names(said, TTL) == [(TTL, "email-retry-queue")]
    assert said[TTL, "email-retry-queue"].line == 9
    assert names(said, "queue-unreached") == []


@pytest.mark.parametrize(
    "queue",
    [
        '  email-retry-5s: {message_ttl: 5s, dead_letter: {exchange: "", key: email-queue}}\n',
        '  first-step: {dead_letter: {exchange: "", key: email-queue}}\n',
        '  my-retry: {bind: [{from: email}], dead_letter: {exchange: "", key: email-queue}}\n',
        '  retry-me: {dead_letter: {exchange: "", key: email-dlq}}\n'.replace("retry-me", "mails"),
    ],
)
def test_no_retry_queue_on_per_message_ttls(of_file: Any, queue: str) -> None:
    assert names(of_file(SEED + queue), TTL) == []


def test_a_ring_by_rejection_without_a_ttl_needs_no_telling_name(of_broker: Any) -> None:
    to = "x-dead-letter-exchange", "x-dead-letter-routing-key"
    work = Queue("work", arguments=dict(zip(to, ("", "pause"), strict=True)))
    pause = Queue("pause", arguments=dict(zip(to, ("", "work"), strict=True)))
    said = of_broker(work, pause, counts={"work": (0, 1), "pause": (2, 0)})
    assert names(said, TTL) == [(TTL, "pause")]
    assert said[TTL, "pause"].mend.command == "mqkit topology export -f topology.yaml"


def test_a_lot_that_nobody_watches(of_file: Any, live: Any) -> None:
    finding = of_file(FILE)[UNWATCHED, "q.parked"]
    assert finding.place == "t.yaml:4"
    assert "alert" in finding.mend.first
    assert names(of_file(FILE, watched=frozenset(["q.parked"])), UNWATCHED) == []
    dropped = FILE.replace("park", "drop")
    assert names(of_file(dropped), UNWATCHED) == []
    there = live(*(Queue("q"), compile_parking_lot("q")), counts={"q.parked": (9, 0)})
    assert "in it: 9 messages" in of_file(FILE, there)[UNWATCHED, "q.parked"].why
