"""The lock of a lot: an exclusive queue, which one connection has and no other (AMQP 0-9-1, 1.7.2.1
"exclusive"). Whose connection is gone has lost it, and nobody has to notice or to clean up.

A connection sends and acks only while it has the lock itself: the broker gives the lock to another
when the old connection is gone *there*, and what the old process writes after that goes nowhere,
however long it was frozen. That is why a lot is read, and its messages are published, on the
connection of the lock (ARCHITECTURE.md, "One connection for a lot").
"""

from __future__ import annotations

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.topology.lots_by_the_clock import LEADER_PREFIX
from mqkit.transport.seam import Channel, Connection

RESOURCE_LOCKED = 405


class Lock:
    """The lock of the lot ``lot``, on ``connection``."""

    def __init__(self, connection: Connection, lot: str) -> None:
        self._connection = connection
        self._queue = Queue(f"{LEADER_PREFIX}{lot}", durable=False, exclusive=True)
        self._channel: Channel | None = None

    async def take(self) -> bool:
        """True if the connection has the lock, now or already. Ask before each window: an
        operator, or a policy with ``expires``, can delete the queue.

        Raises :exc:`~mqkit.errors.ChannelError` if the user may not declare it.
        """
        if self._channel is None or not self._channel.is_open:
            self._channel = await self._connection.channel()
        try:
            await self._channel.declare_queue(self._queue)
        except ChannelError as error:
            if error.reply_code != RESOURCE_LOCKED:
                raise
            return False
        return True
