"""mqkit_bench.plot.scale: round numbers, and where they stand."""

from __future__ import annotations

import pytest

from mqkit_bench.plot.scale import Scale, short, ticks


@pytest.mark.parametrize(
    ("largest", "expected"),
    [
        (1.0, [0, 0.25, 0.5, 0.75, 1.0]),
        (4.3, [0, 2, 4, 6]),
        (100, [0, 25, 50, 75, 100]),
        (0.3, [0, 0.1, 0.2, 0.3]),
        (0, [0, 1]),
    ],
)
def test_ticks_are_round_and_reach_the_largest(largest: float, expected: list[float]) -> None:
    assert ticks(largest) == pytest.approx(expected)


def test_a_scale_runs_either_way() -> None:
    assert Scale(10, 100, 50).at(5) == 125
    assert Scale(10, 100, -50).at(10) == 50


@pytest.mark.parametrize(
    ("figure", "text"),
    [(0, "0"), (2.5, "2.5"), (1_000, "1k"), (1_000_000, "1M"), (65_536, "64Ki"), (2_500, "2.5k")],
)
def test_numbers_are_short(figure: float, text: str) -> None:
    assert short(figure) == text
