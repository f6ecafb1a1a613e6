"""The report of a scenario: progress on stderr, a Markdown table on stdout, figures as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the figures there too.", dir_okay=False),
]


class Discrepancy(Exception):
    """Counts that do not add up, so that the figures mean nothing. The message has the counts."""


def say(line: str) -> None:
    """Progress, apart from the result on stdout."""
    print(line, file=sys.stderr, flush=True)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return (
        "\n".join(f"| {' | '.join(line)} |" for line in lines)
        .replace("| --- ", "|---")
        .replace("|--- |", "|---|")
    )


def write_json(file: Path | None, figures: Sequence[Any]) -> None:
    """The figures (dataclasses) as a JSON list, where a file was asked for."""
    if file is not None:
        rows = [dataclasses.asdict(figure) for figure in figures]
        file.write_text(json.dumps(rows, indent=1) + "\n")
