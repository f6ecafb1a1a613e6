"""bench.rounds: a warm-up that does not count, turns, and medians."""

from __future__ import annotations

import os
from typing import Any

from bench.contestant import Contestant
from bench.load import Workload
from bench.rounds import compete
from bench.session import Address
from mqkit.url import parse

WORKLOAD = Workload(seconds=0.05, queue="bench.rounds")


def contestant(name: str, broker: Any) -> Contestant:
    """A broker of the tests; its CPU and memory are read from this process's account."""
    endpoint = parse(broker.url)
    address = Address(endpoint.host, endpoint.port)
    return Contestant(name, address, broker.management_url, os.getpid())


def test_contestants_take_turns_after_a_warm_up(reference_broker: Any) -> None:
    said: list[str] = []
    both = [contestant(name, reference_broker) for name in ("one", "two")]
    standings = compete(both, WORKLOAD, rounds=2, say=said.append)
    assert [line.split(": ")[:2] for line in said] == [
        [label, name] for label in ("warm-up", "round 1", "round 2") for name in ("one", "two")
    ]
    assert [standing.name for standing in standings] == ["one", "two"]
    for standing in standings:
        low, high = standing.rate_range
        assert 0 < low <= standing.median.rate <= high
        assert standing.messages_per_sync > 0
