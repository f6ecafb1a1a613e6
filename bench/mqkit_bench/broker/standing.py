"""Standings: each entrant's medians in a scenario, and how the first one compares to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.report import markdown

BUSY = 0.9
"""A process that is busy for this share of its time is the limit of a run."""
NOTHING = "-"
FLOOR = "floor: a sync and a transient confirm"
RABBITMQ_NAME = "RabbitMQ"
HEADER = (
    "scenario",
    "body",
    "broker",
    "messages/s (min-max)",
    "ours / its rate (min-max)",
    "broker CPU / message",
    "ours / its CPU (min-max)",
    "client CPU / message",
    "RSS",
    "messages / sync",
    "confirm p50",
    "ours / its p50 (min-max)",
    "target",
    "bound by",
)


@dataclass(frozen=True, slots=True)
class Round:
    """One entrant's figures in one round. CPU is in us a message; ``None`` is "can't be seen"."""

    rate: float
    broker_cpu_us: float | None
    client_cpu_us: float
    rss_mib: float | None
    messages: int
    bound_by: str
    confirm_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


@dataclass(frozen=True, slots=True)
class Standing:
    """An entrant's figures in a scenario, as printed and written. The ratios are the first
    entrant's figure to this one's, round by round; the first has none."""

    scenario: str
    body_bytes: int
    name: str
    sync_mode: str
    rate: Spread
    rate_ratio: Spread | None
    broker_cpu_us: Spread | None
    cpu_ratio: Spread | None
    client_cpu_us: float
    rss_mib: float | None
    messages_per_sync: float | None
    bound_by: str
    rounds: tuple[Round, ...]
    confirm_ms: Spread | None = None
    confirm_ratio: Spread | None = None
    target: str = ""
    """The wish for the ratios to this entrant, where there is one."""


def bound_by(client_cpu_s: float, broker_cpu_s: float | None, seconds: float) -> str:
    """The part that had no time left: the generator, which makes the figure a lower bound; or all
    of the machine's cores; else nothing that the bench can see from outside."""
    if client_cpu_s >= BUSY * seconds:
        return "generator"
    cores = len(os.sched_getaffinity(0))
    if broker_cpu_s is not None and client_cpu_s + broker_cpu_s >= BUSY * cores * seconds:
        return "machine"
    return ""


def standing(
    scenario: Scenario,
    name: str,
    sync_mode: str,
    rounds: Sequence[Round],
    first: Sequence[Round] | None,
    messages_per_sync: float | None,
) -> Standing:
    """An entrant's figures over all rounds, beside those of the ``first`` entrant."""
    bounds = [each.bound_by for each in rounds]
    rss = [each.rss_mib for each in rounds if each.rss_mib is not None]
    return Standing(
        scenario=scenario.name,
        body_bytes=scenario.body_bytes,
        name=name,
        sync_mode=sync_mode,
        rate=spread([each.rate for each in rounds]),
        rate_ratio=_ratio(first, rounds, lambda each: each.rate),
        broker_cpu_us=_spread_of_known([each.broker_cpu_us for each in rounds]),
        cpu_ratio=_ratio(first, rounds, lambda each: each.broker_cpu_us),
        client_cpu_us=median(each.client_cpu_us for each in rounds),
        rss_mib=max(rss) if rss else None,
        messages_per_sync=messages_per_sync,
        bound_by=max(sorted(set(bounds)), key=bounds.count),
        rounds=tuple(rounds),
        confirm_ms=_spread_of_known([each.confirm_ms for each in rounds]),
        confirm_ratio=_ratio(first, rounds, lambda each: each.confirm_ms),
        target=target_of(scenario, name),
    )


def target_of(scenario: Scenario, name: str) -> str:
    """The scenario's targets for the ratios to that entrant: RabbitMQ, or the floor."""
    target = scenario.target
    if target is None:
        return ""
    if name == FLOOR:
        return "" if target.confirm is None else f"p50 {target.confirm:g}"
    if not name.startswith(RABBITMQ_NAME):
        return ""
    return f"{target.rate:g}" if target.cpu is None else f"{target.rate:g}, CPU {target.cpu:g}"


def spread(figures: Sequence[float]) -> Spread:
    """Raises ``statistics.StatisticsError`` where there are none."""
    return Spread(median(figures), min(figures), max(figures))


def _spread_of_known(figures: Sequence[float | None]) -> Spread | None:
    known = [figure for figure in figures if figure is not None]
    return spread(known) if len(known) == len(figures) else None


def _ratio(
    first: Sequence[Round] | None,
    rounds: Sequence[Round],
    figure: Callable[[Round], float | None],
) -> Spread | None:
    if first is None:
        return None
    pairs = [(figure(ours), figure(theirs)) for ours, theirs in zip(first, rounds, strict=True)]
    return _spread_of_known([ours / theirs if ours and theirs else None for ours, theirs in pairs])


def table(standings: Sequence[Standing]) -> str:
    """The figures as a Markdown table."""
    return markdown(HEADER, [_row(each) for each in standings])


def _row(s: Standing) -> list[str]:
    return [
        s.scenario,
        f"{s.body_bytes:,} B",
        s.name,
        f"{s.rate.median:,.0f} ({s.rate.low:,.0f}-{s.rate.high:,.0f})",
        NOTHING if s.rate_ratio is None else str(s.rate_ratio),
        NOTHING if s.broker_cpu_us is None else f"{s.broker_cpu_us.median:.1f} us",
        NOTHING if s.cpu_ratio is None else str(s.cpu_ratio),
        f"{s.client_cpu_us:.1f} us",
        NOTHING if s.rss_mib is None else f"{s.rss_mib:,.0f} MiB",
        NOTHING if s.messages_per_sync is None else f"{s.messages_per_sync:,.0f}",
        NOTHING if s.confirm_ms is None else f"{s.confirm_ms.median:.2f} ms",
        NOTHING if s.confirm_ratio is None else str(s.confirm_ratio),
        s.target or NOTHING,
        s.bound_by or NOTHING,
    ]
