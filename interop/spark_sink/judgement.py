"""The promises of the sink for one batch job, judged by what was found. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interop.spark_sink.queues import Messages
from interop.spark_sink.rows import Row

FAULTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Found:
    """The remains of a job. ``rows`` are those that must be there, by message id; ``window`` has
    the messages of the queue with a window, ``None`` where the broker has no windows; ``attempts``
    says how often the task of each partition was begun."""

    rows: Mapping[str, Row]
    plain: Messages
    window: Messages | None
    attempts: Mapping[int, int]
    report: Mapping[str, Any]
    speculates: bool = False
    kills: int = 0
    """Workers that were killed. One that had a task, and not the first row of it, leaves no mark of
    that attempt: only Spark knows of it."""

    @property
    def copies(self) -> int:
        """Messages in the plain queue more than rows."""
        return self.plain.total() - len(self.rows)


def faults(found: Found) -> list[str]:
    """Everything that breaks a promise; empty if all are kept."""
    return [
        *_at_least_once(found.rows, found.plain),
        *_exactly_once(found.rows, found.window),
        *_no_more_than_attempts(found),
        *_report(found),
    ]


def _at_least_once(rows: Mapping[str, Row], messages: Messages) -> Iterator[str]:
    """Each row is there under its id, and nothing else is."""
    for name, row in rows.items():
        if not messages[name, row.body]:
            yield f"{name} is missing"
    for name, body in messages:
        if name not in rows:
            yield f"{name} is of no row"
        elif body != rows[name].body:
            yield f"{name} has the body {body[:40]!r}"


def _exactly_once(rows: Mapping[str, Row], window: Messages | None) -> Iterator[str]:
    """As many messages behind the window as there are rows, each its own."""
    if window is None:
        return
    for fault in _at_least_once(rows, window):
        yield f"behind the window: {fault}"
    for (name, _), times in window.items():
        if times > 1:
            yield f"behind the window: {name} is there {times} times"


def _no_more_than_attempts(found: Found) -> Iterator[str]:
    """An attempt publishes each of its rows once, but for what the sink says that it sent again."""
    resent = int(found.report["resent"])
    for name, row in found.rows.items():
        times = found.plain[name, row.body]
        if times > found.attempts.get(row.partition, 0) + resent:
            yield (
                f"{name} is there {times} times, of"
                f" {found.attempts.get(row.partition, 0)} attempts, {resent} sent again"
            )


def _report(found: Found) -> Iterator[str]:
    """The report's counts are what the queues say."""
    counts = {
        "rows": len(found.rows),
        "confirmed": len({name for name, _ in found.plain}),
        "unroutable": 0,
        "bad_rows": 0,
        "body_bytes": sum(len(row.body) for row in found.rows.values()),
        "tasks": len({row.partition for row in found.rows.values()}),
    }
    if found.window is not None:
        counts["confirmed"] = found.window.total()
    for name, count in counts.items():
        if found.report[name] != count:
            yield f"the report has {name}={found.report[name]}, and it is {count}"
    if not found.speculates:  # else the first attempt may be the one that Spark takes
        retried = sum(times > 1 for times in found.attempts.values())
        most = min(counts["tasks"], retried + found.kills)
        if not retried <= found.report["retried_tasks"] <= most:
            said = found.report["retried_tasks"]
            yield f"the report has retried_tasks={said}, and it is {retried} to {most}"


def did_not_come(faulty: Iterable[int], found: Found) -> list[str]:
    """A round proves nothing if its fault did not come: then each faulty task was begun again."""
    return [
        f"the fault in partition {partition} did not come"
        for partition in faulty
        if found.attempts.get(partition, 0) < 2
    ]
