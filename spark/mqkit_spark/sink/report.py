"""Reports of publishing, with counts: per task, and for a job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mqkit.errors import MqkitError


class PublishFailed(MqkitError):
    """A job did not get all its rows confirmed. The message says what happened to which.

    Some of its messages may be in queues: publish again under the same message ids.
    """


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The counts of one attempt of one task.

    ``rows`` is ``confirmed + unroutable + bad_rows``. ``resent`` counts messages sent once more
    because the broker nacked them, or because a lost connection left them in doubt: those may be
    in their queues twice, under one id.
    """

    partition: int
    attempt: int
    rows: int = 0
    confirmed: int = 0
    unroutable: int = 0
    bad_rows: int = 0
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
    """The counts of a job: the sums over its tasks, the attempts that Spark accepted.

    ``retried_tasks`` counts tasks of which an earlier attempt had failed; what that had published
    before is in the queues as well, under the same ids.
    """

    job_id: str
    tasks: int
    retried_tasks: int
    rows: int
    confirmed: int
    unroutable: int
    bad_rows: int
    resent: int
    body_bytes: int
    blocked_seconds: float


def total(job_id: str, tasks: Iterable[TaskReport]) -> PublishReport:
    """The report of a job; raises :exc:`PublishFailed` where rows are not accounted for.

    Each row is confirmed by the broker, or was dropped because an option said so. Anything else
    is a bug in this package, and is not passed over.
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
        resent=sum(task.resent for task in tasks),
        body_bytes=sum(task.body_bytes for task in tasks),
        blocked_seconds=sum(task.blocked_seconds for task in tasks),
    )
    accounted = report.confirmed + report.unroutable + report.bad_rows
    if accounted != report.rows:
        raise PublishFailed(
            f"job {job_id}: {report.rows} rows, but {report.confirmed} confirmed,"
            f" {report.unroutable} unroutable and {report.bad_rows} bad ones: {accounted}"
        )
    return report
