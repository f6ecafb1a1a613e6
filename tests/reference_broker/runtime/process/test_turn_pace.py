"""The units of the next turn: fewer after a long one, more after short ones that left work over."""

from __future__ import annotations

import pytest

from reference_broker.core.work.budget import TURN_UNITS
from reference_broker.runtime.process.turn_pace import TURN_MS, UNITS_MIN, next_units


@pytest.mark.parametrize("left_over", [False, True])
def test_a_long_turn_makes_the_next_one_as_much_smaller(left_over: bool) -> None:
    assert next_units(1_000, 2 * TURN_MS, left_over=left_over) == 500
    assert next_units(1_000, 1_000 * TURN_MS, left_over=left_over) == UNITS_MIN


def test_short_turns_that_left_work_over_grow_to_a_bound() -> None:
    units = UNITS_MIN
    for _ in range(20):
        grown = next_units(units, TURN_MS / 4, left_over=True)
        assert grown > units or grown == TURN_UNITS
        units = grown
    assert units == TURN_UNITS


def test_a_short_turn_that_did_all_there_was_says_nothing() -> None:
    assert next_units(1_000, TURN_MS / 4, left_over=False) == 1_000


def test_a_turn_of_about_the_right_length_stays() -> None:
    assert next_units(1_000, TURN_MS * 0.75, left_over=True) == 1_000


@pytest.mark.parametrize("ms_per_unit", [0.001, 0.004, 0.02, 0.5])
def test_turns_come_to_the_length_they_should_have(ms_per_unit: float) -> None:
    units = TURN_UNITS
    for _ in range(30):
        units = next_units(units, units * ms_per_unit, left_over=True)
    taken_ms = units * ms_per_unit
    assert units in (UNITS_MIN, TURN_UNITS) or TURN_MS / 2 <= taken_ms <= TURN_MS
