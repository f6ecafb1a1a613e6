"""The clients' table: medians, and ratios to aio-pika's figure of the same round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from mqkit_bench.client.contestant import BASELINE
from mqkit_bench.client.meter import Measured
from mqkit_bench.client.rounds import ClientStanding
from mqkit_bench.report import markdown

HEADER = (
    "scenario",
    "client",
    "CPU / message",
    f"{BASELINE.name}'s CPU = 1 (min-max)",
    "messages/s (min-max)",
    f"{BASELINE.name}'s rate = 1 (min-max)",
    "busy",
    "peak RSS",
    "note",
)
NOTHING = "-"


def ratios(
    standing: ClientStanding, baseline: ClientStanding, figure: Callable[[Measured], float]
) -> list[float]:
    """Round by round."""
    return [
        figure(ours) / figure(theirs)
        for ours, theirs in zip(standing.rounds, baseline.rounds, strict=True)
    ]


def table(standings: Iterable[ClientStanding]) -> str:
    """The figures as a Markdown table, a row for each scenario and contestant.

    ``busy`` is the client's CPU over the time: where it is far below 100 %, the rate is that of the
    broker, the disk, the round trips, or of a machine that others use.
    """
    standings = list(standings)
    baselines = {each.scenario: each for each in standings if each.name == BASELINE.name}
    return markdown(HEADER, [_row(each, baselines.get(each.scenario)) for each in standings])


def _row(standing: ClientStanding, baseline: ClientStanding | None) -> Sequence[str]:
    if not standing.rounds:
        return (standing.scenario, standing.name, *[NOTHING] * 6, standing.note)
    rates = [each.rate for each in standing.rounds]
    return (
        standing.scenario,
        standing.name,
        f"{median(each.cpu_us for each in standing.rounds):.1f} us",
        _spread(standing, baseline, lambda each: each.cpu_us),
        f"{median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})",
        _spread(standing, baseline, lambda each: each.rate),
        f"{100 * median(each.cpu_s / each.seconds for each in standing.rounds):.0f} %",
        f"{max(each.peak_rss_mib for each in standing.rounds):.0f} MiB",
        standing.note,
    )


def _spread(
    standing: ClientStanding,
    baseline: ClientStanding | None,
    figure: Callable[[Measured], float],
) -> str:
    if baseline is None or not baseline.rounds or standing is baseline:
        return NOTHING
    found = ratios(standing, baseline, figure)
    return f"{median(found):.2f}x ({min(found):.2f}-{max(found):.2f})"
