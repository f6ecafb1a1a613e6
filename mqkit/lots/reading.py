"""Reading a lot: each message that lay there at the start, once, in order, a window at a time.

    get, get, get ...  ->  chosen: a window, and the caller settles it
                       ->  not chosen: held unacked, and given back at the end

What is held stays unacked until the end: a requeued message goes back to the head, and the next get
would bring it again. A window is bounded in messages and in octets: when what has arrived is more,
the rest is left in the socket, and the broker waits.

A broker bounds what a channel may hold unacked. So each channel gets a share of the lot, and the
next one begins when the broker has all that was asked and settled on the one before. A tag that the
reader gives out counts through all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from mqkit.lots.link import LotLink
from mqkit.message import Delivery
from mqkit.transport.seam import Channel, Connection, PausesReading

MESSAGES_MAX = 1_000
"""Messages of a window: enough to make a sync of the disk worth while."""

OCTETS_MAX = 8 * 1024 * 1024
"""Octets of bodies in a window. One message more than that is in memory, however large it is."""

ASKED_MAX = 500
"""Gets on their way at a time: enough to hide the round trip."""

HEADER_OCTETS = 1_024
"""A message's share of memory beside its body, nearly: a window of empty bodies is bounded, too."""

SHARE = 50_000
"""Messages that are read over one channel. The reference broker lets one hold 65,535 unacked."""

ALL = 0
"""The delivery tag that, with ``multiple``, means all that is unacked (AMQP 0-9-1, basic.ack)."""


@dataclass(frozen=True, slots=True)
class Window:
    """The bounds of a window."""

    messages: int = MESSAGES_MAX
    octets: int = OCTETS_MAX


@dataclass(slots=True)
class _Share:
    """A channel, and what it was given and did not settle."""

    channel: Channel
    unsettled: int = 0


class LotReader:
    """Made by :func:`reading`. ``total`` messages lay there at the start."""

    def __init__(
        self, link: LotLink, connection: Connection, channel: Channel, lot: str, total: int
    ) -> None:
        self.lot = lot
        self.total = total
        self.seen = 0
        self._link = link
        self._connection = connection
        self._pauses = connection if isinstance(connection, PausesReading) else None
        self._shares = [_Share(channel)]
        self._asked = 0
        self._coming: deque[asyncio.Task[Delivery | None]] = deque()
        self._arrived_octets = 0
        self._is_paused = False

    @property
    def is_over(self) -> bool:
        """True when each message has been seen."""
        return self.seen >= self.total

    async def window(
        self, chosen: Callable[[Delivery], bool], bounds: Window | None = None
    ) -> list[Delivery]:
        """The next messages for which ``chosen`` is true; fewer than ``bounds`` only at the end.
        Settle them with :meth:`ack`, or leave them; an empty window is the end."""
        bounds = bounds or Window()
        found: list[Delivery] = []
        octets = 0
        while not self.is_over and len(found) < bounds.messages and octets < bounds.octets:
            delivery = await self._next(bounds.messages - len(found))
            if delivery is None:
                break
            if chosen(delivery):
                found.append(delivery)
                octets += size_of(delivery)
        return found

    async def ack(self, tags: Iterable[int]) -> None:
        """They leave the lot."""
        for tag in tags:
            share, before = divmod(tag - 1, SHARE)
            await self._shares[share].channel.ack(before + 1)
            self._shares[share].unsettled -= 1

    async def give_back(self) -> None:
        """Messages that were read and not acked are in the lot again when this returns, in their
        place, marked as redelivered. Idempotent."""
        await self._let_come_in()
        for share in self._shares:
            if not share.channel.is_open:
                continue
            async with self._link.step(f"the requeue on {self.lot!r}"):
                if share.unsettled:
                    # 0 is every one. RabbitMQ closes the channel for a tag that is acked already.
                    await share.channel.nack(ALL, multiple=True, requeue=True)
                    share.unsettled = 0
                # Answered after it: acks and nacks have no answer of their own.
                await self._link.state(share.channel, self.lot)

    def abandon(self) -> None:
        """Wait for nothing more."""
        for task in self._coming:
            task.cancel()

    async def _next(self, most: int) -> Delivery | None:
        await self._ask(min(most, ASKED_MAX))
        delivery = await self._first()
        if delivery is None:
            await self._let_come_in()
            self.total = self.seen
            return None
        return self._take(delivery)

    async def _first(self) -> Delivery | None:
        task = self._coming.popleft()
        if not task.done():
            async with self._link.step(f"a message of {self.lot!r}"):
                await task
        return task.result()

    async def _ask(self, most: int) -> None:
        while len(self._coming) < most and self._asked < self.total:
            if self._asked == SHARE * len(self._shares):
                if self._coming:
                    return  # a broker serves channels side by side, and the order would be lost
                await self._begin_share()
            self._asked += 1
            task = asyncio.ensure_future(self._shares[-1].channel.get(self.lot))
            task.add_done_callback(self._arrived)
            self._coming.append(task)

    async def _begin_share(self) -> None:
        async with self._link.step(f"the acks on {self.lot!r}"):
            await self._link.state(self._shares[-1].channel, self.lot)
        self._shares.append(_Share(await self._link.channel(self._connection)))

    def _arrived(self, task: asyncio.Task[Delivery | None]) -> None:
        if task.cancelled() or task.exception() is not None:
            return
        delivery = task.result()
        if delivery is not None:
            self._arrived_octets += size_of(delivery)
            if self._arrived_octets > OCTETS_MAX and self._pauses and not self._is_paused:
                self._is_paused = True
                self._pauses.pause_reading()

    def _take(self, delivery: Delivery) -> Delivery:
        """Count it, and give it the tag that counts through all channels."""
        share = self._shares[self.seen // SHARE]
        share.unsettled += 1
        before = SHARE * (self.seen // SHARE)
        self.seen += 1
        self._arrived_octets -= size_of(delivery)
        if self._is_paused and self._pauses and not self._arrived_octets:
            self._is_paused = False
            self._pauses.resume_reading()
        if not before:
            return delivery
        return replace(delivery, delivery_tag=before + delivery.delivery_tag)

    async def _let_come_in(self) -> None:
        """Messages on their way still arrive, and are as unacked as the rest."""
        while self._coming:
            delivery = await self._first()
            if delivery is not None:
                self._take(delivery)


def size_of(delivery: Delivery) -> int:
    """The octets that it holds in memory, nearly."""
    return len(delivery.body) + HEADER_OCTETS


@asynccontextmanager
async def reading(link: LotLink, lot: str, purpose: str) -> AsyncIterator[LotReader]:
    """A reader of ``lot`` for the time of the block; at its end what was not acked is given back,
    and all of it is in the lot when this returns. Raises
    :exc:`~mqkit.errors.ConfigurationError` if there is no such queue."""
    async with link.connection(f"{purpose}, reading") as connection:
        channel = await link.channel(connection)
        state = await link.state(channel, lot)
        reader = LotReader(link, connection, channel, lot, state.message_count)
        try:
            yield reader
        except BaseException:
            reader.abandon()  # the end of the connection gives them back
            raise
        await reader.give_back()
