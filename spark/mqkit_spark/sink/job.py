"""The job that a task publishes for: its id is the first part of automatic message ids.

A batch job has its id from the start. A stream's is that of its query and its batch, which stand in
the local properties of a task: the same when Spark runs the batch again, after a restart too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mqkit.errors import ConfigurationError

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"


class TaskProperties(Protocol):
    """The local properties of a task; ``pyspark.TaskContext`` has them."""

    def getLocalProperty(self, key: str) -> str | None:
        """The property's value, if it is set."""
        ...


class Job(Protocol):
    """A batch job, or one batch of a stream."""

    def id_in(self, task: TaskProperties) -> str:
        """The id of the job that ``task`` belongs to."""
        ...


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A job that is run once."""

    job_id: str

    def id_in(self, task: TaskProperties) -> str:
        """The job's id."""
        return self.job_id


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """One batch of a streaming query: ``QUERY/BATCH``.

    ``stream_id`` stands for the query's id where it is given, and ``batch_id`` is the batch where
    the caller knows it.
    """

    stream_id: str | None = None
    batch_id: int | None = None

    def id_in(self, task: TaskProperties) -> str:
        """The id of query and batch. Raises :exc:`~mqkit.errors.ConfigurationError` in a task that
        belongs to no streaming query."""
        query = self.stream_id or task.getLocalProperty(QUERY_ID)
        batch = task.getLocalProperty(BATCH_ID) if self.batch_id is None else self.batch_id
        if query is None or batch is None:
            raise ConfigurationError(
                "Spark does not say which streaming query this task belongs to: give option jobId,"
                " a name of the query's own (a new one with each new checkpoint)"
            )
        return f"{query}/{batch}"
