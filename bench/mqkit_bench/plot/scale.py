"""Scales: from figures to pixels, with round numbers to write beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

KIB = 1024
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """From 0 to ``largest`` over ``pixels``, from ``start`` on; up the page when negative."""

    largest: float
    start: float
    pixels: float

    def at(self, figure: float) -> float:
        return self.start + self.pixels * figure / self.largest


def ticks(largest: float, count: int = 4) -> list[float]:
    """Round numbers from 0 to the first that is not below ``largest``, about ``count`` steps."""
    if largest <= 0:
        return [0.0, 1.0]
    rough = largest / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * each for each in STEPS if unit * each >= rough * (1 - 1e-9))
    last = math.ceil(largest / step - 1e-9)
    return [step * number for number in range(last + 1)]


def short(figure: float) -> str:
    """1,000,000 as 1M, 10,000 as 10k, 65,536 as 64Ki, 2.50 as 2.5."""
    if figure >= KIB and figure % KIB == 0 and figure % 1000:
        return f"{figure / KIB:g}Ki"
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if figure >= unit:
            return f"{figure / unit:g}{letter}"
    return f"{figure:g}"
