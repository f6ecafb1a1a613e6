"""Bars: how one contestant compares to another in each scenario, with the rounds' spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqkit_bench.plot.drawing import Drawing
from mqkit_bench.plot.scale import Scale, short, ticks

LABELS = 190.0
COLUMN = 265.0
GAP = 75.0
ROW = 26.0
THICK = 14.0
HEAD = 62.0
FOOT = 34.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours to theirs: the median of the rounds, the lowest, the highest."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """A scenario. ``None`` where it can't be known."""

    label: str
    rate: Ratio | None
    cpu: Ratio | None


def draw_bars(drawing: Drawing, top: float, title: str, rows: Sequence[Row]) -> float:
    """Throughput on the left, CPU on the right. Returns where it ends."""
    drawing.text(0, top + 20, title, "title")
    bottom = top + HEAD + ROW * len(rows)
    for number, row in enumerate(rows):
        middle = top + HEAD + ROW * (number + 0.5)
        drawing.text(LABELS - 10, middle + 4, row.label, anchor="end")
    columns = (
        ("throughput, theirs = 1 (more is better)", [row.rate for row in rows]),
        ("CPU a message, theirs = 1 (less is better)", [row.cpu for row in rows]),
    )
    for number, (head, ratios) in enumerate(columns):
        left = LABELS + number * (COLUMN + GAP)
        drawing.text(left, top + 46, head, "head")
        _column(drawing, left, (top + HEAD, bottom), ratios)
    return bottom + FOOT


def _column(
    drawing: Drawing, left: float, between: tuple[float, float], ratios: Sequence[Ratio | None]
) -> None:
    top, bottom = between
    known = [ratio.high for ratio in ratios if ratio is not None]
    marks = ticks(max([1.0, *known]))
    scale = Scale(marks[-1], left, COLUMN)
    for mark in marks:
        drawing.line(scale.at(mark), top, scale.at(mark), bottom, "grid")
        drawing.text(scale.at(mark), bottom + 15, short(mark), "small", "middle")
    for number, ratio in enumerate(ratios):
        if ratio is None:
            continue
        middle = top + ROW * (number + 0.5)
        drawing.bar(left, middle - THICK / 2, scale.at(ratio.median) - left, THICK, "ours")
        drawing.line(scale.at(ratio.low), middle, scale.at(ratio.high), middle, "spread")
        drawing.text(scale.at(ratio.high) + 6, middle + 4, f"{ratio.median:.2f}")
    drawing.line(scale.at(1), top, scale.at(1), bottom, "one")
