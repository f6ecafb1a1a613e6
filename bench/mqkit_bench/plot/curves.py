"""Curves: what a message costs against how much there is of something, a panel for each axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mqkit_bench.plot.drawing import WIDTH, Drawing, series_class
from mqkit_bench.plot.scale import Scale, short, ticks

PANELS = 3
"""Side by side."""
GAP = 48.0
AXIS = 34.0
"""Pixels for the numbers at the left of a panel."""
HEIGHT = 150.0
HEAD = 34.0
FOOT = 38.0
LEGEND = 24.0
PANEL = (WIDTH - AXIS - GAP * (PANELS - 1)) / PANELS


@dataclass(frozen=True, slots=True)
class Mark:
    """CPU us a message at a count: the median, the lowest, the highest."""

    count: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One axis: each broker's marks, in ascending order of their counts."""

    title: str
    brokers: Mapping[str, Sequence[Mark]]


def draw_curves(drawing: Drawing, top: float, title: str, panels: Sequence[Panel]) -> float:
    """Draw all panels, a few in each line, under one legend. Returns where the last one ends."""
    drawing.text(0, top + 20, title, "title")
    names = list(dict.fromkeys(name for panel in panels for name in panel.brokers))
    x = 0.0
    for number, name in enumerate(names):
        drawing.bar(x, top + 34, 12, 12, series_class(number))
        drawing.text(x + 18, top + 44, name)
        x += 34 + 7.2 * len(name)
    top += 34 + LEGEND
    step = HEAD + HEIGHT + FOOT
    for number, panel in enumerate(panels):
        left = AXIS + number % PANELS * (PANEL + GAP)
        _panel(drawing, left, top + number // PANELS * step, panel, names)
    return top + step * math.ceil(len(panels) / PANELS)


def _panel(drawing: Drawing, left: float, top: float, panel: Panel, names: Sequence[str]) -> None:
    drawing.text(left, top + 20, panel.title, "head")
    bottom = top + HEAD + HEIGHT
    marks = [mark for found in panel.brokers.values() for mark in found]
    levels = ticks(max(mark.high for mark in marks))
    up = Scale(levels[-1], bottom, -HEIGHT)
    for level in levels:
        drawing.line(left, up.at(level), left + PANEL, up.at(level), "grid")
        drawing.text(left - 6, up.at(level) + 4, short(level), "small", "end")
    places = _places(sorted({mark.count for mark in marks}), left)
    for count, x in places.items():
        drawing.text(x, bottom + 16, short(count), "small", "middle")
    for number, name in enumerate(names):
        found = panel.brokers.get(name, ())
        for mark in found:
            x = places[mark.count]
            drawing.line(x, up.at(mark.low), x, up.at(mark.high), "spread")
        drawing.curve(
            [(places[mark.count], up.at(mark.median)) for mark in found], series_class(number)
        )


def _places(counts: Sequence[int], left: float) -> dict[int, float]:
    """The place of each count on the axis, by its logarithm; zero stands a decade before the next
    one."""
    positive = [count for count in counts if count]
    logarithms = {count: math.log10(count) for count in positive}
    if 0 in counts:
        logarithms[0] = min(logarithms.values(), default=0.0) - 1
    low, high = min(logarithms.values()), max(logarithms.values())
    margin = 10.0
    width = PANEL - 2 * margin
    return {
        count: left
        + margin
        + (width * (logarithms[count] - low) / (high - low) if high > low else 0)
        for count in counts
    }
