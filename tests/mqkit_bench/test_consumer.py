"""mqkit_bench.consumer: a sum of bytes is a number of messages; all that came is acked."""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import closing

import pytest

from mqkit_bench.consumer import Consumer, Subscription
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.filler import fill
from mqkit_bench.ring import Ring
from mqkit_bench.session import Session


@pytest.fixture
def queue(contestant: Contestant, unique: Callable[[str], str]) -> str:
    """With 1,000 messages of 100 bytes."""
    name = unique("q")
    with closing(Session(contestant.address)) as control:
        control.declare(name)
    fill(contestant, Ring.round_robin([name], 100), 1000, lambda _: None)
    return name


def receive(consumer: Consumer, messages: int) -> None:
    while consumer.received < messages:
        assert select.select([consumer.socket], [], [], 30)[0]
        consumer.receive()


def test_a_backlog_is_taken_and_acked(contestant: Contestant, queue: str) -> None:
    subscription = Subscription(queue, 100, prefetch=50, ack_every=20)
    with closing(Consumer(contestant.address, subscription)) as consumer:
        receive(consumer, 1000)
        assert consumer.finish() == 1000
    contestant.expect([queue], Counts(0, 0))


def test_what_was_not_acked_yet_is_in_the_end(contestant: Contestant, queue: str) -> None:
    subscription = Subscription(queue, 100, prefetch=50, ack_every=1000)
    with closing(Consumer(contestant.address, subscription)) as consumer:
        receive(consumer, 50)
        assert consumer.finish() == 50
    contestant.expect([queue], Counts(950, 0))


def test_without_acks_all_is_held_and_given_back(contestant: Contestant, queue: str) -> None:
    with closing(Consumer(contestant.address, Subscription(queue, 100, 2000, 0))) as consumer:
        receive(consumer, 1000)
        contestant.expect([queue], Counts(0, 1000))
    contestant.expect([queue], Counts(1000, 0))


def test_messages_of_another_size_are_noticed(contestant: Contestant, queue: str) -> None:
    subscription = Subscription(queue, 97, ack_every=0)
    with closing(Consumer(contestant.address, subscription)) as consumer:
        receive(consumer, 1000)
        with pytest.raises(ConnectionError, match=r"bytes of messages of \d+ each"):
            consumer.finish()


def test_a_queue_that_is_not_there(contestant: Contestant, unique: Callable[[str], str]) -> None:
    with pytest.raises(ConnectionError, match="404"):
        Consumer(contestant.address, Subscription(unique("none"), 100))
