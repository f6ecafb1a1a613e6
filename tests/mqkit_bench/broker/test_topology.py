"""mqkit_bench.broker.topology: declared, counted and deleted, on either broker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from mqkit_bench.broker.topology import BATCH, Binding, Exchange, Queue, Topology
from mqkit_bench.contestant import Contestant
from mqkit_bench.filler import fill
from mqkit_bench.ring import Ring
from mqkit_bench.session import Session


def test_messages_are_counted_when_purged_and_deleted(
    contestant: Contestant, unique: Callable[[str], str]
) -> None:
    names = [unique(f"q{number}") for number in range(3)]
    topology = Topology(tuple(map(Queue, names)))
    with closing(Session(contestant.address)) as control:
        topology.declare(control)
        fill(contestant, Ring.round_robin(names, 10), 30, lambda _: None)
        assert topology.ready(control) == 30
        assert topology.purge(control) == 30
        fill(contestant, Ring.round_robin(names, 10), 5, lambda _: None)
        assert topology.delete(control) == 5
        assert topology.delete(control) == 0, "what is not there is no error"


def test_what_an_earlier_run_left_is_gone(
    contestant: Contestant, unique: Callable[[str], str]
) -> None:
    name, exchange = unique("q"), unique("x")
    left = Topology((Queue(name, durable=False),), (Exchange(exchange, "fanout"),))
    wanted = Topology(
        (Queue(name, arguments={"x-max-priority": 3}),),
        (Exchange(exchange, "topic"),),
        (Binding(exchange, name, "a.#"),),
    )
    with closing(Session(contestant.address)) as control:
        left.declare(control)
        wanted.declare(control)
        assert wanted.ready(control) == 0
        wanted.delete(control)


def test_more_than_a_batch(contestant: Contestant, unique: Callable[[str], str]) -> None:
    prefix = unique("q")
    topology = Topology(
        tuple(Queue(f"{prefix}.{number}", durable=False) for number in range(BATCH + 1))
    )
    with closing(Session(contestant.address)) as control:
        topology.declare(control)
        assert topology.ready(control) == 0
        topology.delete(control)
        with pytest.raises(ConnectionError, match="no queue"):
            topology.ready(control)


def test_a_refusal_is_told(contestant: Contestant, unique: Callable[[str], str]) -> None:
    topology = Topology((Queue(unique("q"), arguments={"x-max-priority": "high"}),))
    with (
        closing(Session(contestant.address)) as control,
        pytest.raises(ConnectionError, match="x-max-priority"),
    ):
        topology.declare(control)
