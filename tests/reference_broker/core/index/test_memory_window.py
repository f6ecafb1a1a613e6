"""Sizes of windows when many queues want one."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.core.index.memory_window import RESIDENT_BYTES_MIN, Demands

MIN = RESIDENT_BYTES_MIN


def fair_window(demands: list[int], total: int, largest: int, narrowing: int = 1) -> int:
    counted = Demands(largest)
    for demand in demands:
        counted.add(demand)
    return counted.fair_window(total, narrowing)


@pytest.mark.parametrize(
    ("demands", "total", "window"),
    [
        ([], 0, 64 * MIN),
        ([1000 * MIN], 64 * MIN, 64 * MIN),
        ([64 * MIN, 64 * MIN], 64 * MIN, 32 * MIN),
        ([64 * MIN, 64 * MIN, MIN], 64 * MIN, 16 * MIN),
        ([MIN] * 64, 64 * MIN, 64 * MIN),
        ([64 * MIN] * 1000, 64 * MIN, MIN),
    ],
)
def test_the_largest_that_all_can_have(demands: list[int], total: int, window: int) -> None:
    assert fair_window(demands, total, 64 * MIN) == window


def test_it_is_never_larger_than_asked_for_nor_below_the_least() -> None:
    assert fair_window([10], 100, 10) == 10
    assert fair_window([10 * MIN] * 9, 0, 3 * MIN) == MIN
    assert fair_window([10], 0, 100, narrowing=4) == 25
    assert fair_window([100 * MIN] * 3, 0, 64 * MIN, narrowing=4) == MIN


def test_it_is_the_largest_by_trying_each() -> None:
    random = Random(7)
    for _ in range(500):
        largest = random.choice((64 * MIN, 100 * MIN, 3 * MIN, MIN // 3))
        demands = [random.randrange(1, 200 * MIN) >> random.randrange(12) for _ in range(20)]
        total = random.randrange(400 * MIN)
        size = largest
        while size > MIN and sum(min(demand, size) for demand in demands) > total:
            size //= 2
        assert fair_window(demands, total, largest) == max(size, min(MIN, largest))
