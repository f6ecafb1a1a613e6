"""Reading a queue for the length of a command.

The law of this file: a message is acked only after it was shown, and with a count exactly that many
are taken. Deliveries under way are never more than are still wanted, so that none is marked
as redelivered that nobody saw:

    taken = acked + prefetch <= count      acks stop at count - prefetch, the rest after the cancel
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from mqkit.errors import MqkitError
from mqkit.message import Delivery
from mqkit.transport.seam import Channel, Connection
from mqkit_cli.errors import CommandError

PREFETCH = 100
"""Deliveries under way: enough to hide the round trip."""

HELD_MAX = 1_000
"""Messages that are shown and put back are held unacked until the end."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The messages to read, and the end of reading. ``count`` and ``idle_s`` may be ``None``: no
    end but a signal. ``requeue`` puts every message back at the end, in its place."""

    queue: str
    count: int | None
    idle_s: float | None
    requeue: bool

    @property
    def prefetch(self) -> int:
        """The number of messages that may be unacked at a time."""
        if self.requeue:
            return self.count or HELD_MAX
        return PREFETCH if self.count is None else min(PREFETCH, self.count)

    @property
    def wanted(self) -> int | None:
        """The number of messages after which reading ends; ``None`` for no such end."""
        return self.prefetch if self.requeue else self.count

    def acks_at_once(self, taken: int) -> bool:
        """True if the ack of this message, the ``taken``-th, may call for one more."""
        if self.requeue:
            return False
        return self.count is None or taken <= self.count - self.prefetch


class Arrivals:
    """Deliveries from the network, and the reason why no more will come, in one order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Delivery | MqkitError | CommandError | None] = asyncio.Queue()

    def delivered(self, delivery: Delivery) -> None:
        self._queue.put_nowait(delivery)

    def closed(self, error: MqkitError | None) -> None:
        if error is not None:
            self._queue.put_nowait(error)

    def cancelled(self, consumer_tag: str) -> None:
        self._queue.put_nowait(CommandError("the queue was deleted while it was read"))

    def stop(self) -> None:
        """A person has seen enough."""
        self._queue.put_nowait(None)

    async def next(self, idle_s: float | None) -> Delivery | None:
        """The next message; ``None`` at a stop, or when nothing came for so long. Raises why the
        channel is gone."""
        try:
            async with asyncio.timeout(idle_s):
                arrived = await self._queue.get()
        except TimeoutError:
            return None
        if isinstance(arrived, Exception):
            raise arrived
        return arrived


async def read(
    reading: Reading, connection: Connection, arrivals: Arrivals, show: Callable[[Delivery], None]
) -> int:
    """Show messages of the queue until it is enough; how many that was.

    Raises :exc:`~mqkit.errors.ChannelError` if there is no such queue, and
    :exc:`~mqkit.errors.ConnectionLost` when the broker is gone: what was not acked comes again.
    """
    channel = await connection.channel()
    channel.on_closed(arrivals.closed)
    await channel.qos(reading.prefetch)
    tag = await channel.consume(reading.queue, arrivals.delivered, on_cancel=arrivals.cancelled)
    taken = last_tag = 0
    try:
        while reading.wanted is None or taken < reading.wanted:
            delivery = await arrivals.next(reading.idle_s)
            if delivery is None:
                break
            show(delivery)
            taken += 1
            last_tag = delivery.delivery_tag
            if reading.acks_at_once(taken):
                await channel.ack(last_tag)
    finally:
        if channel.is_open:
            await _settle(channel, tag, last_tag, requeue=reading.requeue)
    return taken


async def _settle(channel: Channel, tag: str, last_tag: int, *, requeue: bool) -> None:
    """Everything that was shown; what was not shown goes back as the channel closes."""
    await channel.cancel(tag)
    if last_tag and requeue:
        await channel.nack(last_tag, multiple=True, requeue=True)
    elif last_tag:
        await channel.ack(last_tag, multiple=True)
    await channel.close()
