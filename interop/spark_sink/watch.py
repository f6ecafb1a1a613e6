"""A consumer beside the queues of a round: it says of which partitions rows have come so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pika

from interop.spark_sink.rows import partition_of


class Watch:
    """Of one round; made by :func:`watching`."""

    def __init__(self, connection: pika.BlockingConnection) -> None:
        self._connection = connection
        self._seen: set[int] = set()

    def look(self, within_s: float = 0) -> None:
        """Take what has come since the last look, or comes within that time."""
        self._connection.process_data_events(within_s)

    def has_come(self, partition: int) -> bool:
        """Of that partition, some row is in the queues."""
        return partition in self._seen

    def take(self, _channel: object, _method: object, _properties: object, body: bytes) -> None:
        """A message, from pika."""
        self._seen.add(partition_of(body))


@contextmanager
def watching(url: str, exchange: str) -> Iterator[Watch]:
    """A queue of its own on that exchange, for the time of the block."""
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel: Any = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, exchange)
        watch = Watch(connection)
        channel.basic_consume(queue, watch.take, auto_ack=True)
        yield watch
