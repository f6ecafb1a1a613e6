"""Spark's limits of a batch, from the options and back."""

from __future__ import annotations

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from mqkit_spark.options.stream_read import StreamReadOptions


def default_limit(options: StreamReadOptions) -> ReadLimit:
    """``maxOffsetsPerTrigger`` as Spark has it."""
    most = options.max_offsets_per_trigger
    return ReadAllAvailable() if most is None else ReadMaxRows(most)


def most_of(limit: ReadLimit) -> int | None:
    """The most messages that a limit allows; ``None`` for no limit."""
    return limit.max_rows if isinstance(limit, ReadMaxRows) else None
