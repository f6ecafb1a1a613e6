"""mqkit_bench.broker.growth: the points of an axis."""

from __future__ import annotations

import pytest

from mqkit_bench.broker import families
from mqkit_bench.broker.entrant import RELAY, Entrant
from mqkit_bench.broker.growth import AXES, HEADER, Axis, Point, table, walk
from mqkit_bench.broker.standing import Spread


def test_a_point_for_each_count(reference: Entrant) -> None:
    axis = Axis("queues", "queues in use", families.queues, (1, 5, 500))
    points = walk([reference], axis, largest=10, body_bytes=10, rounds=2, sec=0.05)
    assert [(point.count, point.name) for point in points] == [
        (1, reference.name),
        (5, reference.name),
    ]
    assert all(point.broker_cpu_us.low <= point.broker_cpu_us.high for point in points)


@pytest.mark.parametrize("axis", AXES.values(), ids=lambda axis: axis.name)
def test_counts_ascend_and_make_scenarios(axis: Axis) -> None:
    assert list(axis.counts) == sorted(set(axis.counts))
    made = list(axis.scenarios(100, 10))
    assert made
    assert [count for count, _ in made] == [count for count in axis.counts if count <= 100]


def test_the_table_compares_with_the_first_point() -> None:
    points = [
        Point("queues", "queues in use", count, "a", Spread(us, us, us), 90.0)
        for count, us in ((1, 10.0), (10_000, 15.0))
    ]
    lines = table(points).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert lines[-1] == "| queues in use | 10,000 | a | 15.0 us (15.0-15.0) | 1.50 | 90 MiB |"
    assert RELAY.name not in table(points)


def test_the_floor_has_points_where_it_can_play(reference: Entrant) -> None:
    plain, topics = AXES["bytes"], AXES["bindings"]
    points = [
        point
        for axis, largest in ((plain, 16), (topics, 10))
        for point in walk([reference, RELAY], axis, largest, body_bytes=10, rounds=1, sec=0.05)
    ]
    assert [(point.axis, point.name) for point in points] == [
        ("bytes", reference.name),
        ("bytes", RELAY.name),
        ("bindings", reference.name),
    ]
