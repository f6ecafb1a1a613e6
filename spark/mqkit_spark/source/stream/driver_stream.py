"""Spark's side of a stream without a shared folder (``mode=driver``): one consumer, in the driver's
process of the reader.

A batch is acked when the next one is planned, for only then has Spark finished it. When the
process dies before, the broker gives the messages to the next one, in a batch of other rows
perhaps: none is missing, and those of the batch under way may be there twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from mqkit_spark.options.stream_read import StreamReadOptions
from mqkit_spark.source.stream.held import Held
from mqkit_spark.source.stream.limits import default_limit, most_of
from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.planning import Planner

if TYPE_CHECKING:
    import pyarrow

LOGGER = logging.getLogger("mqkit.spark")


@dataclass
class HeldPartition(InputPartition):
    """Rows on their way to a task, as an Arrow stream."""

    rows: bytes


class DriverStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Consumes in the driver."""

    def __init__(self, options: StreamReadOptions) -> None:
        self.options = options
        self._driver: _Driver | None = None

    def initialOffset(self) -> dict[str, Any]:
        """The start of a query without a checkpoint."""
        return START.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """``maxOffsetsPerTrigger``."""
        return default_limit(self.options)

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends at what lies in the queue now."""
        self._consumer().end_at_depth()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Ack the batch that ``start`` is the end of, and take the next; ``start`` if there is
        none."""
        return self._consumer().next(Offset.from_json(start), most_of(limit)).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The batch that is held; after a restart, a new one of its size under its name."""
        if start == end:
            return []
        return [HeldPartition(rows) for rows in self._consumer().parts(Offset.from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The rows that came with the partition."""
        assert isinstance(partition, HeldPartition)
        with pa.ipc.open_stream(partition.rows) as reader:
            yield from reader

    def stop(self) -> None:
        """Give back what is unacked."""
        if self._driver is not None:
            self._driver.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "_driver": None}

    def _consumer(self) -> _Driver:
        if self._driver is None:
            self._driver = _Driver(self.options)
        return self._driver


class _Driver:
    """The consumer of one query, in the process that plans it."""

    def __init__(self, options: StreamReadOptions) -> None:
        self._queue = options.queue
        self._planner = Planner.of(options)
        self._held = Held(options)
        self._offset: Offset | None = None

    def end_at_depth(self) -> None:
        self._planner.end_at(self._held.depth())

    def next(self, start: Offset, most: int | None) -> Offset:
        if self._offset is not None:
            if self._offset.batch > start.batch:
                return self._offset
            self._release(self._offset)
        now_s = time.monotonic()
        messages = self._planner.messages(self._held.depth(), most, now_s)
        if messages:
            self._held.take(messages)
        if not messages or not self._held.count:
            return start
        count = self._held.count
        self._planner.planned(count, now_s)
        self._offset = start.next(start.batch + 1, count, self._planner.partitions(count))
        return self._offset

    def parts(self, end: Offset) -> list[bytes]:
        if self._offset != end:
            self._held.take(end.messages)
            self._offset = end
            self._planner.planned(self._held.count, time.monotonic())
            LOGGER.warning(
                "queue %s, batch %d runs again: %d rows, %d of them were delivered before",
                self._queue,
                end.batch,
                self._held.count,
                self._held.redelivered,
            )
        return self._held.split(end.shares())

    def close(self) -> None:
        self._held.close()

    def _release(self, offset: Offset) -> None:
        count = self._held.count
        again = self._held.release()
        self._offset = None
        if again:
            LOGGER.warning(
                "queue %s, batch %d: its connection was lost, %d rows come again",
                self._queue,
                offset.batch,
                again,
            )
        LOGGER.info("queue %s, batch %d: %d rows", self._queue, offset.batch, count)
