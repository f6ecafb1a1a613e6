"""A drawing: SVG elements in the order in which they are painted, with the page's own colours."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

WIDTH = 880
SERIES = ("ours", "second", "third", "fourth")
"""The classes of lines and bars, a colour each; those that come after share the last one."""
_STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #3d444d; }
.title { font-size: 15px; font-weight: 600; }
.head { font-weight: 600; }
.small { font-size: 11px; fill: #6a737d; }
.grid { stroke: #d8dee4; }
.one { stroke: #6a737d; stroke-dasharray: 4 3; }
.spread { stroke: #3d444d; stroke-width: 1.5; }
.bar.ours, .dot.ours { fill: #2f6fde; } .curve.ours { stroke: #2f6fde; }
.bar.second, .dot.second { fill: #d9730d; } .curve.second { stroke: #d9730d; }
.bar.third, .dot.third { fill: #2e8b57; } .curve.third { stroke: #2e8b57; }
.bar.fourth, .dot.fourth { fill: #8a63d2; } .curve.fourth { stroke: #8a63d2; }
.curve { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
text { fill: #d1d7e0; }
.small { fill: #9198a1; }
.grid { stroke: #3d444d; }
.one { stroke: #9198a1; }
.spread { stroke: #d1d7e0; }
.bar.ours, .dot.ours { fill: #5b9bff; } .curve.ours { stroke: #5b9bff; }
.bar.second, .dot.second { fill: #f0953f; } .curve.second { stroke: #f0953f; }
.bar.third, .dot.third { fill: #4fc08d; } .curve.third { stroke: #4fc08d; }
.bar.fourth, .dot.fourth { fill: #b392f0; } .curve.fourth { stroke: #b392f0; }
}
"""


def series_class(number: int) -> str:
    return SERIES[min(number, len(SERIES) - 1)]


class Drawing:
    """Lengths are pixels, from the top left. Every element has a class, which has its colour."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """``y`` is where the letters stand."""
        self._add(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{escape(words)}</text>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            f' rx="2" class="bar {kind}"/>'
        )

    def curve(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """A line through the points, with a dot at each."""
        points = list(points)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(f'<polyline points="{path}" class="curve {kind}"/>')
        for x, y in points:
            self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="dot {kind}"/>')

    def svg(self, height: float, title: str) -> str:
        """The whole file; ``title`` is what a screen reader says."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}"'
            f' viewBox="0 0 {WIDTH} {height:.0f}" role="img">\n<title>{escape(title)}</title>\n'
            f"<style>{_STYLE}</style>\n" + "\n".join(self._elements) + "\n</svg>\n"
        )

    def _add(self, element: str) -> None:
        self._elements.append(element)
