"""Waiting times that grow, and the neighbours that jitter gives them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.growth import MAX_FACTOR, Growth
from mqkit.retry.waiting_times import MAX_WAITING_TIMES, shown


def test_each_time_is_a_factor_longer_up_to_the_most() -> None:
    growth = Growth(1_000, times=8, factor=2, most_ms=60_000)
    assert shown(growth.after) == "1s, 2s, 4s, 8s, 16s, 32s, 1m, 1m"


def test_a_factor_may_have_a_fraction_and_times_are_whole_milliseconds() -> None:
    assert Growth(10, times=5, factor=1.5).after == (10, 15, 22, 34, 51)
    assert Growth(1_000, times=3, factor=1.1).after == (1_000, 1_100, 1_210)
    assert Growth(7, times=3, factor=1).after == (7, 7, 7)


def test_without_a_most_the_longest_duration_ends_the_growth() -> None:
    assert Growth(1, times=5, factor=MAX_FACTOR).after[-1] == MAX_DURATION_MS


def test_jitter_gives_each_time_a_shorter_and_a_longer_neighbour() -> None:
    growth = Growth(1_000, times=3, factor=10, most_ms=100_000, jitter=0.2)
    assert growth.neighbours(1_000) == (800, 1_000, 1_200)
    assert growth.neighbours(10_000) == (8_000, 10_000, 12_000)
    assert growth.neighbours(100_000) == (80_000, 100_000)  # never above the most
    assert Growth(1, times=1, jitter=0.9).neighbours(1) == (1, 2)  # never below a millisecond
    assert Growth(1_000, times=1).neighbours(1_000) == (1_000,)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"from_ms": 0}, "1ms to 49.7 days"),
        ({"from_ms": MAX_DURATION_MS + 1}, "1ms to 49.7 days"),
        ({"times": 0}, "1 to 32, not 0"),
        ({"times": 33}, "1 to 32, not 33"),
        ({"factor": 0.5}, "1 to 1000, not 0.5"),
        ({"factor": float("nan")}, "not nan"),
        ({"factor": 1001}, "not 1001"),
        ({"jitter": 1}, "0 to 0.99, not 1"),
        ({"jitter": -0.1}, "not -0.1"),
        ({"most_ms": 999}, "the most, 999ms, is not between the first waiting time, 1s"),
        ({"most_ms": MAX_DURATION_MS + 1}, "49.7 days"),
    ],
)
def test_numbers_out_of_range_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Growth(**{"from_ms": 1_000, "times": 3, **changed})


@given(
    st.integers(1, 10**6),
    st.integers(1, MAX_WAITING_TIMES),
    st.floats(1, MAX_FACTOR),
    st.floats(0, 0.99),
    st.integers(0, 10**6),
)
def test_times_never_fall_and_neighbours_stay_within_the_jitter(
    from_ms: int, times: int, factor: float, jitter: float, above: int
) -> None:
    growth = Growth(from_ms, times, factor, from_ms + above, jitter)
    assert len(growth.after) == times
    assert all(earlier <= later for earlier, later in pairwise(growth.after))
    for after_ms in growth.after:
        near = growth.neighbours(after_ms)
        assert after_ms in near
        assert near[0] >= 1
        assert near[-1] <= growth.most_ms
        assert all(abs(each - after_ms) <= jitter * after_ms + 1 for each in near)
