"""mqkit_bench.plot.curves: a panel for each axis, a curve for each broker."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from mqkit_bench.plot.curves import Mark, Panel, draw_curves
from mqkit_bench.plot.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"


def points(panels: list[Panel]) -> list[list[tuple[float, float]]]:
    drawing = Drawing()
    root = ElementTree.fromstring(drawing.svg(draw_curves(drawing, 0, "title", panels), "t"))
    assert root is not None
    root = ElementTree.fromstring(drawing.svg(1, "t"))
    return [
        [(float(x), float(y)) for x, _, y in (p.partition(",") for p in c.attrib["points"].split())]
        for c in root.iter(f"{SVG}polyline")
    ]


def test_decades_are_equally_wide_and_zero_is_one_more() -> None:
    marks = [Mark(count, 10, 9, 11) for count in (0, 10, 100, 1_000)]
    (curve,) = points([Panel("queues", {"a": marks})])
    steps = [right[0] - left[0] for left, right in pairwise(curve)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)
    assert len({y for _, y in curve}) == 1


def test_dearer_is_higher() -> None:
    brokers = {"a": [Mark(1, 10, 10, 10)], "b": [Mark(1, 40, 40, 40)]}
    (cheap,), (dear,) = points([Panel("queues", brokers)])
    assert cheap[0] == dear[0]
    assert dear[1] < cheap[1]


def test_panels_stand_side_by_side() -> None:
    panel = Panel("p", {"a": [Mark(1, 1, 1, 1)]})
    places = [curve[0] for curve in points([panel] * 4)]
    assert len({x for x, _ in places}) == 3
    assert places[3][0] == places[0][0]
    assert places[3][1] > places[0][1]
