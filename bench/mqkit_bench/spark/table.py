"""The table: medians, and mqkit's rate as a multiple of each contestant's of the same round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from mqkit_bench.report import markdown
from mqkit_bench.spark.contestant import OURS
from mqkit_bench.spark.rounds import Measured, SparkStanding

HEADER = (
    "broker",
    "direction",
    "contestant",
    "rows",
    "rows/s (min-max)",
    "mqkit's rate (min-max)",
    "wanted",
    "CPU a row: broker",
    "JVM",
    "Python",
)
NOTHING = "-"

NOT_TOLD = "not told"
"""A process that ended has taken its account with it."""


def multiples(ours: SparkStanding, theirs: SparkStanding) -> list[float]:
    """Round by round."""
    return [our.rate / their.rate for our, their in zip(ours.rounds, theirs.rounds, strict=True)]


def table(standings: Sequence[SparkStanding]) -> str:
    """The figures as a Markdown table."""
    ours = {
        (each.broker, each.direction): each
        for each in standings
        if each.name == OURS[each.direction].name
    }
    return markdown(
        HEADER, [_row(each, ours.get((each.broker, each.direction))) for each in standings]
    )


def _row(standing: SparkStanding, ours: SparkStanding | None) -> Sequence[str]:
    rounds = standing.rounds
    rates = [each.rate for each in rounds]
    multiple = wanted = NOTHING
    if ours is not None and ours is not standing:
        found = multiples(ours, standing)
        multiple = f"{median(found):.2f}x ({min(found):.2f}-{max(found):.2f})"
    if standing.target is not None:
        wanted = f"{standing.target:g}x"
    return (
        standing.broker,
        standing.direction,
        standing.name,
        f"{rounds[0].rows:,}",
        f"{median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})",
        multiple,
        wanted,
        _cpu_us(rounds, lambda each: each.broker_cpu_s),
        _cpu_us(rounds, lambda each: each.jvm_cpu_s),
        _cpu_us(rounds, lambda each: each.python_cpu_s),
    )


def _cpu_us(rounds: Sequence[Measured], figure: Callable[[Measured], float | None]) -> str:
    known = [1e6 * s / each.rows for each in rounds if (s := figure(each)) is not None]
    return f"{median(known):.1f} us" if known else NOT_TOLD
