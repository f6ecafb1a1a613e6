"""The table of stalls: a row for each action, the brokers beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from statistics import median

from mqkit_bench.report import markdown
from mqkit_bench.stalls.played import Played, Standing

NOTHING = "-"
NO_ANSWER = "no answer"
BOUND_MS = 50.0
ADMINISTRATORS_BOUND_MS = 100.0
"""The longest that others may wait for an action, and for one of the administrator's own. A
persistent message may wait for the disk as well."""


def is_held(standing: Standing) -> bool:
    """True when others waited no longer than they may, by the medians of all plays' longest."""
    bound_ms = ADMINISTRATORS_BOUND_MS if standing.is_administrators else BOUND_MS
    if not standing.plays or not all(play.is_answered for play in standing.plays):
        return False
    beside_disk = median(p.persistent.longest_ms - p.sync_ms for p in standing.plays)
    return beside_disk <= bound_ms >= median(p.transient.longest_ms for p in standing.plays)


def table(standings: Sequence[Standing]) -> str:
    """The medians as a Markdown table. The first broker of an action has the ``held`` column."""
    names = list(dict.fromkeys(standing.name for standing in standings))
    header = ["action"]
    for name in names:
        header += [f"{name}: others wait", "persistent (disk)", "CPU (no core)", "longest turn"]
    rows = []
    for _, group in groupby(standings, key=lambda standing: standing.action):
        found = {standing.name: standing for standing in group}
        first = next(iter(found.values()))
        row = [first.what]
        for name in names:
            row += _cells(found.get(name))
        rows.append([*row, "yes" if is_held(first) else "**no**", _remarks(found.values())])
    return markdown([*header, "held", "remarks"], rows)


def _cells(standing: Standing | None) -> list[str]:
    if standing is None or not standing.plays:
        return [NOTHING] * 4
    plays = standing.plays
    if not all(play.is_answered for play in plays):
        return [NO_ANSWER, NO_ANSWER, _median(plays, lambda play: play.broker_cpu_s, "s"), NOTHING]
    return [
        f"{_median(plays, lambda play: play.transient.longest_ms)}"
        f" (p99 {_median(plays, lambda play: play.transient.p99_ms)})",
        f"{_median(plays, lambda play: play.persistent.longest_ms)}"
        f" ({_median(plays, lambda play: play.sync_ms)})",
        f"{_median(plays, lambda play: play.broker_cpu_s, 's')}"
        f" ({_median(plays, lambda play: play.core_wait_s, 's')})",
        _median(plays, lambda play: play.longest_turn_ms),
    ]


def _median(
    plays: Sequence[Played], figure: Callable[[Played], float | None], unit: str = "ms"
) -> str:
    known = [found for play in plays if (found := figure(play)) is not None]
    if not known:
        return NOTHING
    middle = median(known)
    return f"{middle:,.0f} {unit}" if middle >= 10 else f"{middle:.2g} {unit}"


def _remarks(standings: Iterable[Standing]) -> str:
    found: dict[str, None] = {}
    for standing in standings:
        for remark in (standing.why_not, *(play.remark for play in standing.plays)):
            if remark:
                found[f"{standing.name}: {remark}"] = None
    return "; ".join(found)
