"""A histogram of seconds: which bucket a value falls into, and what is summed."""

from __future__ import annotations

import pytest

from mqkit.metrics.histogram import AGE_BUCKETS_S, DURATION_BUCKETS_S, Histogram


def test_a_bound_is_within_its_bucket() -> None:
    """As Prometheus has it: ``le`` is less or equal."""
    histogram = Histogram((1.0, 5.0))
    for value_s in (0.0, 1.0, 1.5, 5.0, 5.5):
        histogram.observe(value_s)
    assert histogram.values.counts == (2, 2, 1)
    assert histogram.values.count == 5
    assert histogram.values.sum_s == 13.0


def test_several_values_at_once_are_as_many_as_one_by_one() -> None:
    together, each = Histogram(), Histogram()
    together.observe_all(0.25, 3)
    for _ in range(3):
        each.observe(0.25)
    assert together.values == each.values


def test_values_are_those_of_their_moment() -> None:
    histogram = Histogram((1.0,))
    histogram.observe(0.5)
    before = histogram.values
    histogram.observe(2.0)
    assert (before.counts, histogram.values.counts) == ((1, 0), (1, 1))


@pytest.mark.parametrize("bounds_s", [DURATION_BUCKETS_S, AGE_BUCKETS_S], ids=["times", "ages"])
def test_bounds_rise(bounds_s: tuple[float, ...]) -> None:
    assert list(bounds_s) == sorted(set(bounds_s))
