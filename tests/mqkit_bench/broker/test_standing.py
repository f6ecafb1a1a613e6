"""mqkit_bench.broker.standing: medians, ratios round by round, and what limits a run."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from mqkit_bench.broker.families import one_queue
from mqkit_bench.broker.scenario import Target
from mqkit_bench.broker.standing import (
    FLOOR,
    HEADER,
    Round,
    Spread,
    bound_by,
    standing,
    table,
    target_of,
)

SCENARIO = one_queue("persistent", 1024)


def a_round(rate: float, cpu_us: float | None = 10.0, bound: str = "") -> Round:
    return Round(rate, cpu_us, 1.0, None if cpu_us is None else 80.0, 1000, bound)


def test_ratios_are_of_the_same_round() -> None:
    ours = [a_round(100.0, 10.0), a_round(400.0, 20.0), a_round(90.0, 10.0)]
    theirs = [a_round(50.0, 20.0), a_round(100.0, 25.0), a_round(30.0, 100.0)]
    found = standing(SCENARIO, "theirs", "fsync", theirs, ours, 12.0)
    assert found.rate == Spread(50.0, 30.0, 100.0)
    assert found.rate_ratio == Spread(3.0, 2.0, 4.0)
    assert found.cpu_ratio == Spread(0.5, 0.1, 0.8)
    assert (found.body_bytes, found.rss_mib, found.messages_per_sync) == (1024, 80.0, 12.0)


def test_what_can_not_be_seen_has_no_ratio() -> None:
    ours, theirs = [a_round(100.0)], [a_round(50.0, None)]
    found = standing(SCENARIO, "theirs", "not known", theirs, ours, None)
    assert found.rate_ratio == Spread(2.0, 2.0, 2.0)
    assert (found.broker_cpu_us, found.cpu_ratio, found.rss_mib) == (None, None, None)


def test_the_most_frequent_bound_is_told() -> None:
    rounds = [a_round(1.0, bound=bound) for bound in ("machine", "", "machine")]
    assert standing(SCENARIO, "a", "", rounds, None, None).bound_by == "machine"


@pytest.mark.parametrize(
    ("client_s", "broker_s", "bound"),
    [
        (0.95, 0.1, "generator"),
        (0.95, None, "generator"),
        (0.5, len(os.sched_getaffinity(0)) - 0.5, "machine"),
        (0.3, 0.2, ""),
        (0.3, None, ""),
    ],
)
def test_what_had_no_time_left(client_s: float, broker_s: float | None, bound: str) -> None:
    assert bound_by(client_s, broker_s, seconds=1.0) == bound


def test_the_table_has_a_row_for_each() -> None:
    ours, theirs = [a_round(300.0, 5.0)], [a_round(100.0, 50.0, "generator")]
    lines = table(
        [
            standing(SCENARIO, "ours", "a", ours, None, 20.0),
            standing(SCENARIO, "theirs", "b", theirs, ours, None),
            standing(SCENARIO, "unseen", "c", [a_round(1.0, None)], ours, None),
        ]
    ).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert "| 3.00 (3.00-3.00) | 50.0 us | 0.10 (0.10-0.10) |" in lines[3]
    assert lines[3].endswith("| generator |")
    assert "| - | 5.0 us | - |" in lines[2]


def test_targets_are_for_rabbitmq_and_the_floor() -> None:
    scenario = replace(SCENARIO, target=Target(1.5, 0.5, 1.4))
    assert target_of(scenario, "RabbitMQ 3.10.8") == "1.5, CPU 0.5"
    assert target_of(scenario, FLOOR) == "p50 1.4"
    assert target_of(scenario, "mqkit reference broker") == ""
    assert target_of(replace(SCENARIO, target=Target(2)), "RabbitMQ") == "2"
    assert target_of(replace(SCENARIO, target=Target(2)), FLOOR) == ""
    assert target_of(SCENARIO, "RabbitMQ") == ""


def test_confirms_are_compared_round_by_round() -> None:
    ours = [replace(a_round(1.0), confirm_ms=ms) for ms in (0.4, 0.6, 0.9)]
    theirs = [replace(a_round(1.0), confirm_ms=0.3) for _ in ours]
    found = standing(SCENARIO, "theirs", "", theirs, ours, None)
    assert found.confirm_ratio is not None
    assert round(found.confirm_ratio.median, 3) == 2.0
