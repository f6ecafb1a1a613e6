"""The table that ``make interop`` ends with: a line per suite, and one for the sequences."""

from __future__ import annotations

from collections.abc import Iterable

from interop.differential.search import Tally
from interop.suites.verdict import Verdict

HEAD = ("suite", "tests", "passed there", "passed here", "needs a broker", "differs on purpose")
SEQUENCES = "generated sequences"


def summary(verdicts: Iterable[Verdict], tally: Tally | None = None) -> str:
    """The comparison as a table. A sequence passes there, since RabbitMQ is the measure, and here
    when it has the same results; those that differ on purpose are named."""
    rows = [HEAD, *([] if tally is None else [_of_sequences(tally)]), *map(_of_suite, verdicts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def on_purpose(tally: Tally) -> str:
    """The number of sequences that ended at each known difference."""
    return ", ".join(f"{name} {count}" for name, count in sorted(tally.on_purpose.items()))


def _of_sequences(tally: Tally) -> tuple[str, ...]:
    total = str(tally.compared)
    known = f"{tally.on_purpose.total()} ({on_purpose(tally)})" if tally.on_purpose else "0"
    return SEQUENCES, total, total, str(tally.alike), total, known


def _of_suite(verdict: Verdict) -> tuple[str, ...]:
    counts = (verdict.tests, verdict.passed_there, verdict.passed_here)
    return verdict.suite, *map(str, (*counts, verdict.need_broker, verdict.on_purpose))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    name, *counts, known = row
    cells = [count.rjust(width) for count, width in zip(counts, widths[1:-1], strict=True)]
    return "  ".join([name.ljust(widths[0]), *cells, known])
