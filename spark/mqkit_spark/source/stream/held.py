"""A batch in memory, unacked, with the connection that it came over (``mode=driver``)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from mqkit.errors import MqkitError
from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit.transport.native.over_sockets.connection import NativeBlockingConnection
from mqkit_spark.columns.contents import read
from mqkit_spark.columns.deliveries import arrow_schema
from mqkit_spark.columns.runs import batch_of_run
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options.stream_read import StreamReadOptions
from mqkit_spark.source.stream.intake import Intake, ready
from mqkit_spark.source.stream.patience import patiently

if TYPE_CHECKING:
    import pyarrow

CONNECTION_NAME = "mqkit-spark-driver"

HELD_MAX = 10_000
HELD_BYTES_MAX = 32 * 1024 * 1024
"""A batch of this mode stops at whichever comes first: it lies in the driver's memory, and each
partition travels with its task."""


@dataclass(slots=True)
class Held:
    """Takes a batch at a time; :meth:`release` it before the next."""

    options: StreamReadOptions
    pause: Callable[[float], None] = time.sleep
    rows: list[pyarrow.RecordBatch] = field(default_factory=list, init=False)
    redelivered: int = field(default=0, init=False)
    """Rows of the batch that were delivered before: they may be in the result already."""
    _connection: NativeBlockingConnection | None = field(default=None, init=False)
    _channel: NativeBlockingChannel | None = field(default=None, init=False)
    _last_tag: int = field(default=0, init=False)

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.rows)

    def depth(self) -> int:
        """The ready messages of the queue; see :meth:`~.gauge.Gauge.depth`."""
        return patiently(self.options.queue, self._depth, self.close, self.pause)

    def take(self, most: int) -> None:
        """Hold some messages, ``most`` at most and as many as :data:`HELD_MAX` and
        :data:`HELD_BYTES_MAX` allow."""
        most = min(most, HELD_MAX)
        patiently(self.options.queue, lambda: self._take(most), self.close, self.pause)

    def release(self) -> int:
        """Ack the batch. The number of its rows that come again, since the connection that they
        came over is lost: 0, or all."""
        count, self.rows = self.count, []
        if not count or self._channel is None:
            return count
        try:
            self._channel.ack(self._last_tag, multiple=True)
            # Its answer comes after the ack was heard.
            ready(self._channel, self.options.queue)
        except MqkitError:
            self.close()
            return count
        return 0

    def close(self) -> None:
        """Let the broker have back what is unacked. Idempotent; the rows stay."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._channel = None

    def split(self, shares: list[int]) -> list[bytes]:
        """The rows in as many parts, each as an Arrow stream."""
        schema = arrow_schema(self.options.headers_format)
        table = pa.Table.from_batches(self.rows, schema=schema)
        parts, begin = [], 0
        for share in shares:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, schema) as writer:
                writer.write_table(table.slice(begin, share))
            parts.append(sink.getvalue().to_pybytes())
            begin += share
        return parts

    def _take(self, most: int) -> None:
        self.rows, self.redelivered = [], 0
        intake = Intake(self._opened(), self.options.queue)
        count = octets = 0
        while count < most and octets < HELD_BYTES_MAX and (taken := intake.take(most - count)):
            count += len(taken)
            octets += sum(map(len, taken.bodies))
            self.redelivered += sum(taken.redelivered)
            contents = read(taken.properties)
            self.rows.append(batch_of_run(taken, contents, self.options.headers_format))
        self._last_tag = intake.last_tag

    def _depth(self) -> int:
        return ready(self._opened(), self.options.queue)

    def _opened(self) -> NativeBlockingChannel:
        if self._channel is None or not self._channel.is_open:
            self.close()
            self._connection = connect_exact(self.options, name=CONNECTION_NAME)
            self._channel = self._connection.channel()
        return self._channel
