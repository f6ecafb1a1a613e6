"""Samples, and how fast they move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.http.rows.series import BASIC, GLOBAL, RATE_ONLY, STEP_MS, Series, SeriesSum

T = 1_700_000_040_000


def series_of(*values: int, levels: tuple[object, ...] = BASIC) -> Series:
    series = Series(levels)  # type: ignore[arg-type]
    for number, value in enumerate(values):
        series.add(T + number * STEP_MS, (0, value))
    return series


def test_the_rate_is_that_of_the_last_two_samples() -> None:
    assert series_of(0, 35, 63).rate(1) == 5.6
    assert series_of(0, 63, 35).rate(1) == -5.6
    assert series_of(0, 63, 63).rate(1) == 0.0
    assert series_of(63).rate(1) == 0.0
    assert series_of(1, 2, 12, levels=RATE_ONLY).rate(1) == 2.0


def test_a_history_is_newest_first_and_begins_with_nothing() -> None:
    series = series_of(5, 5, 7)
    assert series.samples(1, 20, 5) == [
        (T + 10_000, 7), (T + 5_000, 5), (T, 5), (T - 5_000, 0), (T - 10_000, 0),
    ]  # fmt: skip
    assert series.samples(1, 120, 60) == [(T, 5), (T - 60_000, 0), (T - 120_000, 0)]


def test_several_are_added_up() -> None:
    both = SeriesSum([series_of(0, 35, 63), series_of(1, 2, 12)])
    assert both.rate(1) == 5.6 + 2.0
    assert both.samples(1, 5, 5) == [(T + 10_000, 75), (T + 5_000, 37)]


def test_since_when_nothing_moves() -> None:
    assert series_of(1, 2, 2, 2).changed_ms == T + STEP_MS


def test_an_hour_is_kept_at_a_minutes_step() -> None:
    series = series_of(*range(721))
    last = T + 720 * STEP_MS
    assert series.last_ms == last
    assert series.at(1, last - 600_000) == 600
    assert series.at(1, last - 3_600_000) <= 12
    old = series.at(1, last - 1_800_000)
    assert 348 <= old <= 360  # a minute's step: up to twelve samples back


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_what_is_left_out_makes_no_difference(values: list[int]) -> None:
    series = series_of(*values, levels=GLOBAL)
    for number, value in enumerate(values):
        assert series.at(1, T + number * STEP_MS) == value
        assert series.at(1, T + number * STEP_MS + STEP_MS - 1) == value
    assert series.at(1, T - 1) == 0
