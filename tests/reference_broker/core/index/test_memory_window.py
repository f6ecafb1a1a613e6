"""Sizes of windows when many queues want one."""

from __future__ import annotations

import pytest

from reference_broker.core.index.memory_window import RESIDENT_BYTES_MIN, fair_window

MIN = RESIDENT_BYTES_MIN


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
