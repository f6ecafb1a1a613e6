"""The units of work of the next turn, from how long the last one took.

A unit is about one message into or out of one queue. What that takes depends on the machine, on who
else uses it and on what is in the processor's cache: turns of as many units took 5 ms, and 40. So a
turn that was too long makes the next ones smaller, and short turns that left work over make them
larger again.
"""

from __future__ import annotations

from reference_broker.core.work.budget import TURN_UNITS

TURN_MS = 14.0
"""Milliseconds of the loop's thread that a turn is to take at most, while there is more to do: from
its first input to the end of its output, with a portion of the work that was left over."""

UNITS_MIN = TURN_UNITS // 5
"""Of fewer units a turn would mostly be reading sockets and writing them."""

GROWTH = 1.25
"""Of the units, when a turn was shorter than half of :data:`TURN_MS` and left work over."""


def next_units(units: int, taken_ms: float, *, left_over: bool) -> int:
    """The units of the turns that follow one of ``units`` which took ``taken_ms``. ``left_over``:
    its budget ended it. Where nothing was left over, a short turn says nothing."""
    if taken_ms > TURN_MS:
        return max(UNITS_MIN, round(units * TURN_MS / taken_ms))
    if left_over and taken_ms < TURN_MS / 2:
        return min(TURN_UNITS, round(units * GROWTH))
    return units
