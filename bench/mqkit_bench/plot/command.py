"""``plot``: files of figures in, one SVG out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqkit_bench.plot.bars import draw_bars
from mqkit_bench.plot.curves import draw_curves
from mqkit_bench.plot.drawing import Drawing
from mqkit_bench.plot.figures import Figures, NotFigures, read

TITLE = "mqkit bench"
CURVES = "Broker CPU a message, in us, with more of something (medians, lowest to highest)"


def svg(figures: Figures) -> str:
    """The picture: bars, group by group, then the curves."""
    drawing = Drawing()
    end = 0.0
    for title, rows in figures.bars.items():
        end = draw_bars(drawing, end, f"{title} (medians of ratios, lowest to highest)", rows)
    if figures.panels:
        end = draw_curves(drawing, end, CURVES, figures.panels)
    return drawing.svg(end, TITLE)


def plot(
    files: Annotated[
        list[Path],
        typer.Argument(
            exists=True, dir_okay=False, help="What --json of broker, growth or client wrote."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", dir_okay=False, help="The SVG.")],
) -> None:
    """Draw figures as an SVG: bars of ratios with their spread, and growth curves."""
    try:
        figures = read(files)
    except NotFigures as why:
        raise typer.BadParameter(str(why)) from None
    if not figures.bars and not figures.panels:
        raise typer.BadParameter("no ratio and no curve in these files: was there one broker only?")
    out.write_text(svg(figures))
