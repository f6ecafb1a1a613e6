"""A queue as a test looks at it: what is in it is taken out, and what is wrong with that is told.

    parked = await broker.queue("orders.parked").one()      # in an async test
    parked = broker.queue("orders.parked").blocking.one()   # in another

A message that is on its way is waited for, in real time.
"""

from __future__ import annotations

import asyncio
import time
from threading import Lock

from mqkit.declaration import Queue as Declaration
from mqkit.errors import ChannelError
from mqkit.message import Delivery
from mqkit.testing.shown import shown
from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.url import parse

WITHIN_S = 5.0
"""Seconds that a message is waited for, unless said otherwise."""

LOOK_EVERY_S = 0.005
"""Seconds between two looks for a message that is waited for."""

TAKEN_MAX = 10_000
"""Messages that are taken at once, at most: all of them are in memory."""

CONNECT_TIMEOUT_S = 10.0

CONNECTION_NAME = "a test's look at queues"
"""By which a broker knows the connection of a :class:`QueueReader`."""


class QueueReader:
    """The connection by which a test looks at its queues: opened when it is first needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None

    def take(self, queue: str, most: int) -> list[Delivery]:
        """Take out up to ``most`` messages that are ready, and ack them. None where the queue is
        not there."""
        with self._lock:
            channel = self._open()
            try:
                ready = self._ready(channel, queue)
            except ChannelError:
                return []
            taken = channel.get_many(queue, min(ready, most))
            if taken:
                channel.ack(taken[-1].delivery_tag, multiple=True)
            return taken

    def depth(self, queue: str) -> int:
        """The number of messages that are ready. Raises :exc:`~mqkit.errors.ChannelError` where
        the queue is not there."""
        with self._lock:
            return self._ready(self._open(), queue)

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            connection, self._connection, self._channel = self._connection, None, None
            if connection is not None:
                connection.close()

    def _ready(self, channel: BlockingChannel, queue: str) -> int:
        return channel.declare_queue(Declaration(queue), passive=True).message_count

    def _open(self) -> BlockingChannel:
        if self._connection is None or not self._connection.is_open:
            transport = BlockingChoice.NATIVE.transport()
            self._connection = transport.connect(
                parse(self._url), name=CONNECTION_NAME, timeout_s=CONNECT_TIMEOUT_S
            )
            self._channel = None
        if self._channel is None or not self._channel.is_open:
            self._channel = self._connection.channel()
        return self._channel


class BlockingQueue:
    """The queue ``name``; its methods block their thread. See :class:`Queue`."""

    def __init__(self, name: str, reader: QueueReader) -> None:
        self.name = name
        self._reader = reader

    def one(self, within: float = WITHIN_S) -> Delivery:
        """Take the one message out that the queue has, or gets ``within`` so many seconds. Raises
        ``AssertionError`` where there is none, or more than one: then it tells what there was,
        which is taken out, too."""
        (taken,) = self.take(1, within)
        return taken

    def take(self, number: int, within: float = WITHIN_S) -> list[Delivery]:
        """Take all messages out, which are to be ``number`` within so many seconds. Raises
        ``AssertionError`` as :meth:`one`."""
        end_s = time.monotonic() + within
        taken: list[Delivery] = []
        while True:
            taken += self._reader.take(self.name, TAKEN_MAX)
            if len(taken) >= number or time.monotonic() > end_s:
                break
            time.sleep(LOOK_EVERY_S)
        if len(taken) != number:
            raise AssertionError(
                f"{self.name!r} had {_count(len(taken))} where {number} should be{shown(taken)}"
            )
        return taken

    def all(self) -> list[Delivery]:
        """Take out all messages that are ready now."""
        return self._reader.take(self.name, TAKEN_MAX)

    @property
    def depth(self) -> int:
        """The number of messages that are ready now."""
        return self._reader.depth(self.name)


class Queue:
    """The queue ``name``; its methods are awaited. ``blocking`` is the same queue for a test that
    is no coroutine."""

    def __init__(self, name: str, reader: QueueReader) -> None:
        self.name = name
        self.blocking = BlockingQueue(name, reader)

    async def one(self, within: float = WITHIN_S) -> Delivery:
        """See :meth:`BlockingQueue.one`."""
        return await asyncio.to_thread(self.blocking.one, within)

    async def take(self, number: int, within: float = WITHIN_S) -> list[Delivery]:
        """See :meth:`BlockingQueue.take`."""
        return await asyncio.to_thread(self.blocking.take, number, within)

    async def all(self) -> list[Delivery]:
        """See :meth:`BlockingQueue.all`."""
        return await asyncio.to_thread(self.blocking.all)

    async def depth(self) -> int:
        """See :attr:`BlockingQueue.depth`."""
        return await asyncio.to_thread(lambda: self.blocking.depth)


def _count(number: int) -> str:
    return "no message" if not number else f"{number} message{'s' if number > 1 else ''}"
