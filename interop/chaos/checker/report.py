"""The summary of a run as text: counts, the table of recoveries, the laws, and every offence with
the facts that tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from interop.chaos.checker.history import History
from interop.chaos.checker.recovery import limit_s, recoveries
from interop.chaos.checker.verdict import Verdict
from interop.chaos.facts import APPLICATION, REMAINS, RUN

OFFENCES_SHOWN = 8
LINES_SHOWN = 12


def report(history: History, verdicts: Sequence[Verdict], folder: Path) -> str:
    """The whole summary; the facts in ``folder`` are looked through for offences only."""
    return "\n".join(
        (
            *_counts(history),
            *_table_of_faults(history),
            *_laws(verdicts),
            *_offences(verdicts, folder),
        )
    )


def _counts(history: History) -> Iterator[str]:
    outcomes = Counter(
        f"Rejected {each.reason}" if each.reason else each.outcome or "none"
        for each in history.messages.values()
    )
    yield f"{len(history.messages):,} publishes: {_listed(outcomes)}"
    handled = Counter(min(each.begun, 9) for each in history.messages.values() if each.done)
    yield (
        f"{handled.total():,} messages handled, begun so often: "
        f"{_listed(Counter({f'{times}x': count for times, count in handled.items()}))}"
    )
    ends = Counter(
        each.error if each.end == "call failed" else each.end or "none"
        for each in history.calls.values()
    )
    yield f"{len(history.calls):,} calls: {_listed(ends)}"
    yield f"left in the queues: {_listed(history.found) or 'nothing'}"
    yield f"the app counts: {_listed(Counter(history.stats))}"
    starvation = history.starvation
    yield (
        f"the app's loop did not get to run for {starvation.total_s:.1f} s in all, with"
        f" {starvation.own_cpu_s:.1f} s of its own CPU in that"
    )


def _table_of_faults(history: History) -> Iterator[str]:
    yield "fault                      times  publishing  consuming  limit, s"
    for kind, recovery in sorted(recoveries(history).items()):
        yield (
            f"{kind:<26} {recovery.times:>5}  {recovery.publishing_s:>10.2f}"
            f"  {recovery.consuming_s:>9.2f}  {limit_s(kind):>8.1f}"
        )


def _laws(verdicts: Iterable[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        said = f"{len(verdict.offences)} OFFENCES" if verdict.offences else "held"
        yield f"{verdict.law:<56} {verdict.judged:>9,} judged  {said}"
        for reason, count in sorted(verdict.counted_out.items()):
            yield f"    counted out, {reason}: {count:,}"


def _offences(verdicts: Iterable[Verdict], folder: Path) -> Iterator[str]:
    for verdict in verdicts:
        for offence in verdict.offences[:OFFENCES_SHOWN]:
            yield f"OFFENCE, {verdict.law}: {offence.text}"
            if offence.mark:
                yield from _lines_with(offence.mark, folder)
        more = len(verdict.offences) - OFFENCES_SHOWN
        if more > 0:
            yield f"... and {more:,} more of this law"


def _lines_with(mark: str, folder: Path) -> Iterator[str]:
    shown = 0
    for name in (APPLICATION, RUN, REMAINS):
        path = folder / name
        if not path.exists():
            continue
        with path.open() as lines:
            for line in lines:
                if mark in line and shown < LINES_SHOWN:
                    shown += 1
                    yield f"    {name}: {line.rstrip()}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()) if count)
