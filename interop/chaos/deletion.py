"""Deleting queues under the app, and declaring them otherwise, over a connection past the proxy.

Each deletion is a fact, with the time before it: what was in there is counted out by the checker.
"""

from __future__ import annotations

import time

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from interop.chaos.facts import FactsFile

OTHER_ARGUMENTS = {"x-max-length": 1_000_000}
"""No queue of the app has these."""
DECLARE_TRIES = 5


class Deletion:
    """Deletes ``queue``, which belongs to the queue ``owner``. Blocks; call from a thread."""

    def __init__(self, url: str, queue: str, owner: str, facts: FactsFile) -> None:
        self._parameters = pika.URLParameters(url)
        self._queue = queue
        self._owner = owner
        self._facts = facts

    def delete(self) -> None:
        with pika.BlockingConnection(self._parameters) as connection:
            self._delete(connection.channel())

    def redeclare(self) -> bool:
        """Delete it, and declare it with other arguments; False where the app was quicker each
        time."""
        with pika.BlockingConnection(self._parameters) as connection:
            for _ in range(DECLARE_TRIES):
                channel = connection.channel()
                self._delete(channel)
                try:
                    channel.queue_declare(self._queue, durable=True, arguments=OTHER_ARGUMENTS)
                except ChannelClosedByBroker:
                    continue
                return True
        return False

    def _delete(self, channel: BlockingChannel) -> None:
        began = round(time.monotonic(), 6)
        channel.queue_delete(self._queue)
        self._facts.write("deletion", queue=self._queue, owner=self._owner, began=began)
