"""mqkit_bench.plot.drawing: well-formed, whatever the words."""

from __future__ import annotations

from xml.etree import ElementTree

from mqkit_bench.plot.drawing import SERIES, Drawing, series_class


def test_words_are_escaped() -> None:
    drawing = Drawing()
    drawing.text(1, 2, "a < b & c")
    drawing.curve([(0, 0), (1, 1)], "ours")
    root = ElementTree.fromstring(drawing.svg(10, "<title>"))
    assert [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")] == ["a < b & c"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 2


def test_colours_run_out_gracefully() -> None:
    assert [series_class(number) for number in (0, 1, 99)] == [SERIES[0], SERIES[1], SERIES[-1]]
