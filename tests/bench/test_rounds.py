"""bench.rounds and the table: a warm-up that does not count, turns, and medians."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import table
from bench.contestant import Contestant, file_system
from bench.load import Workload
from bench.rounds import Round, Standing, compete
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


def test_the_table_names_the_ratio() -> None:
    ours = Round(80_000, 1.0, 2.0, 10.0, 0.5, 70.0, 400_000)
    theirs = Round(20_000, 5.0, 9.0, 50.0, 4.0, 180.0, 100_000)
    lines = table(
        [Standing("a", ours, (1.0, 2.0), 800.0), Standing("b", theirs, (1.0, 2.0), 1000.0)]
    ).splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[-1] == "a: 4.00x the throughput of b, with 0.20x its CPU per message."


def test_file_systems_are_told_apart() -> None:
    assert file_system(Path("/proc/self")) == "proc"
    assert file_system(Path(os.getcwd())) not in {"proc", "unknown"}


@pytest.mark.parametrize("figure", ["cpu_s", "rss_mib"])
def test_the_kernel_accounts_for_a_process(reference_broker: Any, figure: str) -> None:
    assert getattr(contestant("this", reference_broker), figure)() > 0
