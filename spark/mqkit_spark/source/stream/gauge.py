"""The depth of the queue, asked for by the driver before each batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit_spark.connecting import connect_exact
from mqkit_spark.options.stream_read import StreamReadOptions
from mqkit_spark.source.stream.intake import ready
from mqkit_spark.source.stream.patience import patiently

CONNECTION_NAME = "mqkit-spark-planner"


@dataclass(slots=True)
class Gauge:
    """Keeps one connection, for Spark may ask a hundred times a second."""

    options: StreamReadOptions
    pause: Callable[[float], None] = time.sleep
    _connection: BlockingConnection | None = field(default=None, init=False)
    _channel: BlockingChannel | None = field(default=None, init=False)

    def depth(self) -> int:
        """The ready messages. Waits for a broker that is away for a while.

        Raises as :func:`~mqkit_spark.source.stream.patience.patiently`.
        """
        return patiently(self.options.queue, self._ask, self.close, self.pause)

    def close(self) -> None:
        """Idempotent."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._channel = None

    def _ask(self) -> int:
        if self._channel is None:
            self._connection = connect_exact(self.options, name=CONNECTION_NAME)
            self._channel = self._connection.channel()
        return ready(self._channel, self.options.queue)
