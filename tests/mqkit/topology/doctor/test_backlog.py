"""Queues that fill up."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Queue

FULL, UNCONSUMED = "queue-full", "queue-unconsumed"


@pytest.mark.parametrize(
    ("messages", "more", "is_said"),
    [
        (10, {}, True),
        (10, {"x-overflow": "drop-head"}, True),
        (9, {}, False),
        (10, {"x-overflow": "reject-publish"}, False),
        (10, {"x-dead-letter-exchange": "amq.fanout"}, False),
    ],
)
def test_a_full_queue(of_broker: Any, messages: int, more: dict[str, Any], is_said: bool) -> None:
    queue = Queue("q", arguments={"x-max-length": 10, **more})
    said = of_broker(queue, counts={"q": (messages, 1)})
    assert ((FULL, "q") in said) is is_said


@pytest.mark.parametrize(
    ("name", "counts", "arguments", "is_said"),
    [
        ("q", (1, 0), {}, True),
        ("q", (0, 0), {}, False),
        ("q", (1, 1), {}, False),
        ("q.parked", (1, 0), {}, False),
        ("q", (1, 0), {"x-queue-type": "stream"}, False),
        ("q", (1, 0), {"x-message-ttl": 5, "x-dead-letter-exchange": "amq.fanout"}, False),
    ],
)
def test_messages_without_a_consumer(
    of_broker: Any, name: str, counts: tuple[int, int], arguments: dict[str, Any], is_said: bool
) -> None:
    said = of_broker(Queue(name, arguments=arguments), counts={name: counts})
    assert ((UNCONSUMED, name) in said) is is_said


def test_counts_that_are_not_gathered_yet_say_nothing(of_broker: Any) -> None:
    queue = Queue("q", arguments={"x-max-length": 0})
    assert {key[0] for key in of_broker(queue, counts={"q": (None, None)})} == {"queue-unreached"}
