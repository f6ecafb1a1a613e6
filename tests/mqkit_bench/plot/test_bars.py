"""mqkit_bench.plot.bars: one bar for each ratio that is known."""

from __future__ import annotations

from xml.etree import ElementTree

from mqkit_bench.plot.bars import Ratio, Row, draw_bars
from mqkit_bench.plot.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"


def test_lengths_are_in_proportion() -> None:
    drawing = Drawing()
    rows = [
        Row("one", Ratio(2, 1, 3), Ratio(0.5, 0.4, 0.6)),
        Row("two", Ratio(4, 4, 4), None),
    ]
    end = draw_bars(drawing, 0, "title", rows)
    root = ElementTree.fromstring(drawing.svg(end, "t"))
    first, second, cpu = (float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect"))
    assert second == 2 * first
    assert cpu > 0
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"one", "two", "2.00", "4.00", "0.50"} <= set(texts)
