"""mqkit_bench.tasks: what the workers report is what became of the messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from mqkit_bench.consumer import Subscription
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.filler import fill
from mqkit_bench.ring import Ring
from mqkit_bench.session import Session
from mqkit_bench.tasks import drain, hold, publish_at
from mqkit_bench.worker import Worker, WorkerFailed


@pytest.fixture
def queue(contestant: Contestant, unique: Callable[[str], str]) -> str:
    """With 500 messages of 100 bytes."""
    name = unique("q")
    with closing(Session(contestant.address)) as control:
        control.declare(name)
    fill(contestant, Ring.round_robin([name], 100), 500, lambda _: None)
    return name


def test_draining_again_and_again(contestant: Contestant, queue: str) -> None:
    subscription = Subscription(queue, 100, prefetch=10, ack_every=5)
    acked = 0
    with Worker(drain, contestant.address, subscription) as drainer:
        for messages in (100, 200):
            drainer.tell(messages)
            drained = drainer.report()
            assert messages <= drained.messages <= drained.acked
            assert drained.seconds > 0
            acked += drained.acked
    contestant.expect([queue], Counts(500 - acked, 0))


def test_holding_until_told(contestant: Contestant, queue: str) -> None:
    with Worker(hold, contestant.address, Subscription(queue, 100, 1000, 0), 500) as holder:
        assert holder.report() == 500
        contestant.expect([queue], Counts(0, 500))
    contestant.expect([queue], Counts(500, 0))


def test_publishing_at_a_pace(contestant: Contestant, queue: str) -> None:
    with Worker(publish_at, contestant.address, queue, 100, 1000.0) as publisher:
        publisher.report()
        publisher.tell("stop")
        published = publisher.report()
    contestant.expect([queue], Counts(500 + published, 0))


def test_a_queue_that_is_not_there(contestant: Contestant, unique: Callable[[str], str]) -> None:
    with (
        Worker(hold, contestant.address, Subscription(unique("none"), 100), 1) as holder,
        pytest.raises(WorkerFailed, match="hold: ConnectionError: 404"),
    ):
        holder.report()
