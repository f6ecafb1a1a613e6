"""Reports of publishing, with counts: per task, and for a job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mqkit.errors import MqkitError


class PublishFailed(MqkitError):
    """A job did not get all its rows confirmed. The message says what happened to which.

    Some of its messages may be in queues: publish again under the same message ids.
    """


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The counts of one attempt of one task.

    ``rows`` is ``confirmed + unroutable + bad_rows``; of the last two, ``dead_lettered`` are
    confirmed in the dead letter exchange. ``resent`` counts messages sent once more because the
    broker nacked them, or because a lost connection left them in doubt: those may be in their
    queues twice, under one id. ``job_id`` is the first part of the task's automatic ids.
    """

    partition: int
    attempt: int
    job_id: str = ""
    rows: int = 0
    confirmed: int = 0
    unroutable: int = 0
    bad_rows: int = 0
    dead_lettered: int = 0
    resent: int = 0
    body_bytes: int = 0
    seconds: float = 0.0
    blocked_seconds: float = 0.0
    first_id: str | None = None
    last_id: str | None = None

    def to_json(self) -> str:
        """The report as JSON, for the way from an executor to the caller."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TaskReport:
        """The reverse of :meth:`to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The counts of a job, or of one batch of a stream: the sums over its tasks, the attempts that
    Spark accepted.

    ``retried_tasks`` counts tasks of which an earlier attempt had failed; what that had published
    before is in the queues as well, under the same ids. ``task_seconds`` is the time of all tasks
    together, ``blocked_seconds`` the part of it in which the broker had blocked their connections.
    """

    job_id: str
    tasks: int
    retried_tasks: int
    rows: int
    confirmed: int
    unroutable: int
    bad_rows: int
    dead_lettered: int
    resent: int
    body_bytes: int
    task_seconds: float
    blocked_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, under stable names."""
        return asdict(self)

    def __str__(self) -> str:
        return " ".join(
            f"{name}={value:.3f}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.to_dict().items()
        )


def total(job_id: str, tasks: Iterable[TaskReport]) -> PublishReport:
    """The report of a job; raises :exc:`PublishFailed` where rows are not accounted for.

    Each row is confirmed by the broker, or was dropped or dead-lettered because an option said so.
    Anything else is a bug in this package, and is not passed over.
    """
    tasks = list(tasks)
    report = PublishReport(
        job_id=job_id,
        tasks=len(tasks),
        retried_tasks=sum(task.attempt > 0 for task in tasks),
        rows=sum(task.rows for task in tasks),
        confirmed=sum(task.confirmed for task in tasks),
        unroutable=sum(task.unroutable for task in tasks),
        bad_rows=sum(task.bad_rows for task in tasks),
        dead_lettered=sum(task.dead_lettered for task in tasks),
        resent=sum(task.resent for task in tasks),
        body_bytes=sum(task.body_bytes for task in tasks),
        task_seconds=sum(task.seconds for task in tasks),
        blocked_seconds=sum(task.blocked_seconds for task in tasks),
    )
    accounted = report.confirmed + report.unroutable + report.bad_rows
    if accounted != report.rows or report.dead_lettered > report.unroutable + report.bad_rows:
        raise PublishFailed(
            f"job {job_id}: {report.rows} rows, but {report.confirmed} confirmed,"
            f" {report.unroutable} unroutable and {report.bad_rows} bad ones: {accounted};"
            f" {report.dead_lettered} dead letters"
        )
    return report


def job_id_of(tasks: Iterable[TaskReport], otherwise: str) -> str:
    """The job that the tasks say that they belong to; ``otherwise`` where there are none."""
    return next((task.job_id for task in tasks), otherwise)
