"""Figures that can be drawn: what ``broker``, ``growth`` and ``client`` write with ``--json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from mqkit_bench.broker.sync_mode import NO_DISK
from mqkit_bench.client.contestant import BASELINE, OURS
from mqkit_bench.client.meter import Measured
from mqkit_bench.client.rounds import ClientStanding
from mqkit_bench.client.scenario import Scenario
from mqkit_bench.client.table import ratios
from mqkit_bench.plot.bars import Ratio, Row
from mqkit_bench.plot.curves import Mark, Panel


class NotFigures(ValueError):
    """A file that ``plot`` can't draw. The message names it."""


@dataclass(slots=True)
class Figures:
    """The bars of each scenario, by title; and the curves of each axis."""

    bars: dict[str, list[Row]] = field(default_factory=dict)
    panels: list[Panel] = field(default_factory=list)


def read(files: Sequence[Path]) -> Figures:
    """All figures of these files, in their order.

    Raises :exc:`NotFigures` for a file of anything else.
    """
    figures = Figures()
    points: list[Mapping[str, Any]] = []
    clients: dict[tuple[str, str], ClientStanding] = {}
    for file in files:
        try:
            rows = json.loads(file.read_text())
            for row in rows:
                if "axis" in row:
                    points.append(row)
                elif "version" in row:
                    clients[row["scenario"], row["name"]] = _client(row)
                else:
                    _add_bar(figures, row)
        except (ValueError, KeyError, TypeError, UnicodeDecodeError) as why:
            raise NotFigures(f"{file} has no figures that can be drawn: {why!r}") from None
    _add_clients(figures, clients)
    figures.panels = _panels(points)
    return figures


def _add_bar(figures: Figures, row: Mapping[str, Any]) -> None:
    """The first broker of a scenario has nothing to be compared with, and the floor is no rival."""
    rate, cpu = row["rate_ratio"], row["cpu_ratio"]
    if (rate is None and cpu is None) or row["sync_mode"] == NO_DISK:
        return
    label = f"{row['scenario']}, {_size(row['body_bytes'])}"
    bar = Row(label, Ratio(**rate) if rate else None, Ratio(**cpu) if cpu else None)
    title = f"The reference broker beside {row['name']}"
    figures.bars.setdefault(title, []).append(bar)


def _client(row: Mapping[str, Any]) -> ClientStanding:
    rounds = [Measured(**each) for each in row["rounds"]]
    return ClientStanding(
        Scenario(row["scenario"]), row["name"], row["version"], row["note"], rounds
    )


def _add_clients(figures: Figures, clients: Mapping[tuple[str, str], ClientStanding]) -> None:
    """A bar for each scenario that both have played."""
    for (scenario, name), ours in clients.items():
        theirs = clients.get((scenario, BASELINE.name))
        if name != OURS.name or theirs is None or not ours.rounds or not theirs.rounds:
            continue
        rate, cpu = (
            _ratio(ratios(ours, theirs, figure))
            for figure in (lambda each: each.rate, lambda each: each.cpu_us)
        )
        title = f"mqkit's client beside {BASELINE.name}"
        figures.bars.setdefault(title, []).append(Row(scenario, rate, cpu))


def _ratio(of_rounds: Sequence[float]) -> Ratio:
    return Ratio(median(of_rounds), min(of_rounds), max(of_rounds))


def _size(body_bytes: int) -> str:
    if body_bytes and body_bytes % 1024 == 0:
        return f"{body_bytes // 1024} KiB"
    return f"{body_bytes:,} B"


def _panels(points: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """The panels in the order of their first points; counts ascend."""
    axes: dict[str, dict[str, list[Mark]]] = {}
    for point in points:
        mark = Mark(point["count"], **point["broker_cpu_us"])
        axes.setdefault(point["what"], {}).setdefault(point["name"], []).append(mark)
    return [
        Panel(what, {n: sorted(marks, key=lambda mark: mark.count) for n, marks in brokers.items()})
        for what, brokers in axes.items()
    ]
