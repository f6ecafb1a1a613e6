"""A broker as a test has it: a place of its own on a broker, which is empty at the beginning."""

from __future__ import annotations

from mqkit.testing.queue import Queue, QueueReader


class Broker:
    """An empty virtual host. ``url`` is good for every AMQP client."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._reader = QueueReader(url)

    def queue(self, name: str) -> Queue:
        """The queue of that name, to look at its messages. It need not be there yet."""
        return Queue(name, self._reader)

    def close(self) -> None:
        """Close the connection by which queues are looked at. Idempotent."""
        self._reader.close()
