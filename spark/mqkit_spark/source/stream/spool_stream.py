"""Spark's side of a stream that is spooled (``mode=spool``).

Spark pickles the reader into its planner and into the tasks; the one that plans lives in a process
of the driver as long as the query, and alone has the spool folder. Spark calls ``latestOffset``
with the end of its newest finished batch, logs the answer, and then calls ``partitions``, after a
restart with the same end once more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from mqkit_spark.options.stream_read import StreamReadOptions
from mqkit_spark.source.stream.gauge import Gauge
from mqkit_spark.source.stream.limits import default_limit, most_of
from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.planning import Planner
from mqkit_spark.source.stream.spool.batch_folder import BatchFolder
from mqkit_spark.source.stream.spool.faults import DataLoss, one_line
from mqkit_spark.source.stream.spool.folder import SpoolFolder
from mqkit_spark.source.stream.spool.lineage import follow
from mqkit_spark.source.stream.spool.reader import SpoolReader

if TYPE_CHECKING:
    import pyarrow

LOGGER = logging.getLogger("mqkit.spark")


@dataclass
class SpoolPartition(InputPartition):
    """A partition on its way to a task."""

    batch: BatchFolder
    index: int


class SpoolStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches of a queue, and reads them."""

    def __init__(self, options: StreamReadOptions) -> None:
        self.options = options
        self._driver: _Driver | None = None

    # -- in the driver's process

    def initialOffset(self) -> dict[str, Any]:
        """The start of a query without a checkpoint."""
        return START.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """``maxOffsetsPerTrigger``."""
        return default_limit(self.options)

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends at what lies in the queue now."""
        self._plan().end_at_depth()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch, or ``start`` when there is nothing for one."""
        return self._plan().next(Offset.from_json(start), most_of(limit)).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The shares of the batch that ``end`` is the end of."""
        if start == end:
            return []
        return self._plan().partitions(Offset.from_json(end))

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has finished the batch: its rows go."""
        self._plan().settle_to(Offset.from_json(end))

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "_driver": None}

    def _plan(self) -> _Driver:
        if self._driver is None:
            self._driver = _Driver(self.options)
        return self._driver

    # -- in a task

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The rows of a partition: the same in each attempt."""
        assert isinstance(partition, SpoolPartition)
        return SpoolReader(self.options, partition.batch, partition.index).rows()


class _Driver:
    """The planning of one query, in the process that has the spool folder."""

    def __init__(self, options: StreamReadOptions) -> None:
        assert options.spool_location is not None
        self._options = options
        self._folder = SpoolFolder.owned(
            Path(options.spool_location), options.queue, options.dedup_window
        )
        self._gauge = Gauge(options)
        self._planner = Planner.of(options)
        self._number = 0
        self._followed: Offset | None = None
        self._offered: Offset | None = None

    def end_at_depth(self) -> None:
        self._planner.end_at(self._gauge.depth())

    def next(self, start: Offset, most: int | None) -> Offset:
        with one_line(f"spoolLocation {self._options.spool_location}"):
            if start != self._followed and (again := self._follow(start)) is not None:
                # Planned before this process came to be. The limit was another's; its rows may
                # be there already, so that it can't be cut.
                self._take_over(again)
                return again
            depth = self._gauge.depth()
            now_s = time.monotonic()
            messages = self._planner.messages(depth, most, now_s)
            if not messages:
                return start
            partitions = self._planner.partitions(messages)
            offset = start.next(self._number, messages, partitions)
            self._folder.begin(offset)
            self._followed = None
            self._offered = offset
            self._planner.planned(messages, now_s)
            return offset

    def partitions(self, end: Offset) -> Sequence[InputPartition]:
        batch = self._folder.batch(end)
        if not batch.is_there():
            lost = f"batch {end.batch} is asked for again, and its files are gone from the spool"
            if self._options.fail_on_data_loss:
                raise DataLoss(f"{lost}; failOnDataLoss=false goes on without its rows")
            LOGGER.warning("%s: it has no rows", lost)
            return []
        if end != self._offered:
            self._take_over(end)
        return [SpoolPartition(batch, index) for index in range(end.partitions)]

    def settle_to(self, end: Offset) -> None:
        with one_line(f"spoolLocation {self._options.spool_location}"):
            found = self._folder.standing()
            if any(each.offset == end for each in found):
                for each in found:
                    if each.offset.batch <= end.batch:
                        self._settle(each.offset)

    def _follow(self, start: Offset) -> Offset | None:
        history = self._folder.history()
        following = follow(
            start,
            history.last if history else None,
            self._folder.standing(),
            fail_on_data_loss=self._options.fail_on_data_loss,
        )
        if following.lost is not None:
            LOGGER.warning("%s", following.lost)
            if history is None:
                self._folder.go_on_from(start)
        for offset in following.settle:
            self._settle(offset)
        self._number = following.number
        self._followed = start
        return following.again

    def _take_over(self, offset: Offset) -> None:
        """A batch that another process has planned. What it has taken is not in the queue."""
        self._offered = offset
        if not self._folder.batch(offset).is_taken():
            self._planner.planned(offset.messages, time.monotonic())

    def _settle(self, offset: Offset) -> None:
        counts = self._folder.settle(offset)
        LOGGER.info("queue %s, batch %d: %s", self._options.queue, offset.batch, counts)
