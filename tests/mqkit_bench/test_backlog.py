"""mqkit_bench.backlog: small ones, over one queue and over several."""

from __future__ import annotations

import dataclasses

import pytest

from mqkit_bench.backlog import HEADER, Backlog, Figures, measure, table
from mqkit_bench.restart import Restart
from mqkit_bench.server import ReferenceServer


@pytest.mark.slow
def test_what_was_confirmed_comes_back(server: ReferenceServer) -> None:
    figures = measure(server, Backlog(messages=3001, queues=7, body_bytes=10))
    assert [r.ending for r in figures.restarts] == ["kill -9", "clean"]
    assert [r.recovered for r in figures.restarts] == [3001, 3001]
    assert 0 < figures.slowest_rate <= figures.first_rate
    assert figures.last_rate > 0
    assert server.contestant.counts(["bench.backlog.000000"]) is None, "its queues are gone"


def test_names_are_of_one_length() -> None:
    names = Backlog(1, 1000, 100).queue_names
    assert len(set(names)) == 1000
    assert len({len(name) for name in names}) == 1


def test_a_window_is_at_most_half() -> None:
    assert Backlog(10_000_000, 1, 100).window == 100_000
    assert Backlog(1001, 1, 100).window == 501


def test_the_table_has_growth_ratio_and_restarts() -> None:
    killed = Restart("kill -9", 0.1, 1.0, 1.5, 2**20, 90.0)
    clean = dataclasses.replace(killed, ending="clean", ready_s=0.5, first_delivery_s=0.75)
    figures = Figures(
        "a",
        Backlog(2**20, 3, 100),
        50.0,
        150.0,
        1000.0,
        800.0,
        900.0,
        700.0,
        9.5,
        0.5,
        (killed, clean),
    )
    lines = table([figures, figures]).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert lines[2].split(" | ")[2:] == [
        "100 MiB (100 B a message)",
        "1,000 / 800 (0.80)",
        "900 / 700",
        "9.5 / 0.5 us",
        "1.00 / 1.50 s",
        "0.50 / 0.75 s",
        "1,048,576 / 1,048,576 |",
    ]
