"""A partition of a batch, read in a task: from its file, which this attempt makes if it is not
there.

    consume ──> attempt file, synced ──> lock: drop what is known, link ──> ack ──> rows, from the
    file

Two attempts of one partition may run at once (speculation, or a task whose driver is dead). One
wins the link; the other acks nothing, closes its channel, so that its messages go back, and reads
the winner's file. What is known is looked up under a lock of the whole folder, which is held until
the link: else a message that came again, because a connection was lost that its first reader still
believed in, could stand in two files that were linked at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mqkit.errors import ConnectionLost, MqkitError
from mqkit.transport.blocking import BlockingChannel
from mqkit.transport.native.delivery_run import DeliveryRun
from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit_spark.collector import rare_collections
from mqkit_spark.columns.contents import read
from mqkit_spark.columns.runs import batch_of_run
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options.stream_read import StreamReadOptions
from mqkit_spark.source.stream.intake import acknowledge
from mqkit_spark.source.stream.patience import patiently
from mqkit_spark.source.stream.spool import window
from mqkit_spark.source.stream.spool.batch_folder import BatchFolder, standing
from mqkit_spark.source.stream.spool.counts import Counts
from mqkit_spark.source.stream.spool.data_file import (
    FINGERPRINTS,
    DataFileWriter,
    copy_without,
    counts_of,
    fingerprints_of,
    rows_of,
)
from mqkit_spark.source.stream.spool.disk import won
from mqkit_spark.source.stream.spool.faults import DataLoss, SpoolError, one_line
from mqkit_spark.source.stream.spool.fingerprint import came_again, fingerprints
from mqkit_spark.source.stream.spool.layout import Layout
from mqkit_spark.source.stream.wide_intake import WideIntake

if TYPE_CHECKING:
    import pyarrow

CONNECTION_NAME = "mqkit-spark-source"


@dataclass(slots=True)
class SpoolReader:
    """One attempt of one partition. ``acknowledge`` is the step after the link, and ``pause`` waits
    between connections."""

    options: StreamReadOptions
    batch: BatchFolder
    partition: int
    acknowledge: Callable[[BlockingChannel, int], None] = acknowledge
    pause: Callable[[float], None] = time.sleep
    _lost: int = field(default=0, init=False)

    def rows(self) -> Iterator[pyarrow.RecordBatch]:
        """The partition's rows: the same, whoever asks and how often.

        Raises :exc:`~.faults.SpoolError` in one line, and what connecting and consuming raise when
        it has been tried for a while.
        """
        with one_line(f"spool folder {self.batch.path}"):
            path = self._file()
        yield from rows_of(path, self.options.headers_format)

    def _file(self) -> Path:
        return patiently(self.options.queue, self._found_or_made, self._count_lost, self.pause)

    def _found_or_made(self) -> Path:
        path = self.batch.data(self.partition)
        if path.exists():
            return path
        self._check_is_there()
        return self._attempt()

    def _count_lost(self) -> None:
        self._lost += 1

    def _check_is_there(self) -> None:
        if not self.batch.is_there():
            raise SpoolError(
                f"spool folder {self.batch.path} is not there: batch {self.batch.offset.batch} is"
                " over, or driver and executors do not share spoolLocation"
            )
        if self.batch.counts(self.partition) is not None:
            raise DataLoss(
                f"{self.batch.data(self.partition)} is gone: the rows of that partition were taken"
                " from the queue, and can't be given again"
            )

    def _attempt(self) -> Path:
        attempt = self.batch.attempt(self.partition)
        connection = connect_exact(self.options, name=CONNECTION_NAME)
        try:
            return self._take(connection, attempt)
        finally:
            # Idempotent; unacked messages go back now.
            connection.close()
            attempt.unlink(missing_ok=True)

    def _take(self, connection: NativeBlockingConnection, attempt: Path) -> Path:
        intake = WideIntake(connection, self.options.queue)
        consumed, own = self._write(intake, attempt)
        path = self.batch.data(self.partition)
        with self._layout.publishing(self.pause):
            if path.exists():
                return path
            if not intake.is_open:
                # They have gone back: those without an id would be there twice.
                raise ConnectionLost("the connection was lost before the file was linked")
            known = self._known(own)
            is_won = self._link(attempt, path, known)
        if is_won:
            counts = replace(counts_of(path), lost_connections=self._lost)
            counts = replace(counts, dropped=consumed - counts.rows)
            self.batch.write_counts(self.partition, counts)
            self._settle(intake, counts)
        return path

    def _write(self, intake: WideIntake, attempt: Path) -> tuple[int, pyarrow.Array]:
        """Consume the share into a file; the number of messages, and their fingerprints."""
        share = self.batch.offset.shares()[self.partition]
        writer = DataFileWriter(attempt, self.options.headers_format)
        consumed, own = 0, set[bytes]()
        try:
            with rare_collections():
                while consumed < share and (taken := intake.take(share - consumed)):
                    consumed += len(taken)
                    self._add(writer, taken, own)
            writer.close()
        finally:
            writer.abandon()
        return consumed, pa.array(list(own), FINGERPRINTS)

    def _add(self, writer: DataFileWriter, taken: DeliveryRun, own: set[bytes]) -> None:
        contents = read(taken.properties)
        rows = batch_of_run(taken, contents, self.options.headers_format)
        marks = fingerprints(contents.message_ids, taken.bodies)
        column = pa.array(marks, FINGERPRINTS)
        if self.options.dedup_window and (repeated := came_again(marks, own)):
            fresh = pa.array([place not in repeated for place in range(len(marks))])
            rows, column = rows.filter(fresh), column.filter(fresh)
        writer.add(rows, column)

    def _known(self, own: pyarrow.Array) -> pyarrow.Array:
        newest = [
            marks
            for batch in standing(self.batch.batches)
            for path in batch.files().values()
            for marks in fingerprints_of(path)
        ]
        return window.known(own, newest, self._layout.seen, self.options.dedup_window)

    def _link(self, attempt: Path, path: Path, known: pyarrow.Array) -> bool:
        if not len(known):
            return won(attempt, path)
        rest = self.batch.attempt(self.partition)
        try:
            copy_without(attempt, rest, self.options.headers_format, known)
            return won(rest, path)
        finally:
            rest.unlink(missing_ok=True)

    def _settle(self, intake: WideIntake, counts: Counts) -> None:
        """Ack. Where that is in doubt the rows are given all the same: they are synced, and what
        comes again is known."""
        try:
            for share in intake.shares:
                self.acknowledge(share.channel, share.intake.last_tag)
        except MqkitError:
            lost = counts.lost_connections + 1
            self.batch.write_counts(self.partition, replace(counts, lost_connections=lost))

    @property
    def _layout(self) -> Layout:
        return Layout(self.batch.batches.parent)
