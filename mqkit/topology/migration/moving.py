"""Messages from one queue to another, in order, a window at a time.

    get, get, get ...  ->  the journal has the ids  ->  publish, ack, one commit  ->  the journal

They are published to a fanout exchange that leads to the other queue alone: so they keep their
routing key, and ``CC`` headers send no copies. A queue that rejects publishes when it is full gets
its messages with confirms, and each is acked after its own: in a transaction the ack is done even
where the publish was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.lots.archive.record import Record
from mqkit.lots.sending import in_words, own
from mqkit.message import Delivery, Message
from mqkit.outcome import Confirmed, Unknown
from mqkit.topology.migration.session import Session, deadline
from mqkit.topology.migration.stopped import Stopped
from mqkit.transport.seam import Channel, OpensTransactions, TransactionalChannel

MESSAGES_MAX = 100
"""Of a window: enough to hide the round trip, few enough to name."""

OCTETS_MAX = 8 * 1024 * 1024
"""Of a window. Gets on their way may bring more, by as much as messages differ in size."""

GROWTH = 4
"""Gets are sent in portions; each next one is so many times as large, while messages are small."""

HEADER_OCTETS = 1_024
"""A message's share of memory beside its body, nearly."""

Seen = Callable[[Delivery], None]
"""Called with each delivery before it is moved. What it raises leaves the window where it is."""


@dataclass(frozen=True, slots=True)
class Lane:
    """From ``source`` over the fanout exchange ``way`` to ``destination``."""

    source: str
    way: str
    destination: str
    with_confirms: bool = False


class Moved(NamedTuple):
    """The messages of one call, and if ``source`` was empty at its end."""

    messages: int
    is_empty: bool


@dataclass(slots=True)
class Mover:
    """Moves along one lane. Close it."""

    session: Session
    lane: Lane
    _channel: Channel | None = field(default=None, init=False)
    _portion: int = field(default=1, init=False)

    async def move(self, most: int | None = None, seen: Seen = lambda delivery: None) -> Moved:
        """Move until the source is empty, or ``most`` messages are moved. Raises :exc:`Stopped`
        where the destination takes no more; what was not moved stays."""
        count = 0
        while most is None or count < most:
            bound = MESSAGES_MAX if most is None else min(MESSAGES_MAX, most - count)
            window, is_empty = await self._window(bound)
            if window:
                try:
                    for delivery in window:
                        seen(delivery)
                    count += await self._hand_over(window)
                except BaseException:
                    await self.close()  # what was not committed is in its queue again
                    raise
            if is_empty:
                return Moved(count, True)
        return Moved(count, False)

    async def close(self) -> None:
        """Idempotent."""
        channel, self._channel = self._channel, None
        if channel is not None and channel.is_open:
            async with deadline(self.session.site, "the end of a channel"):
                await channel.close()

    async def _open(self) -> Channel:
        if self._channel is None or not self._channel.is_open:
            connection = self.session.connection
            async with deadline(self.session.site, "a channel"):
                if self.lane.with_confirms:
                    self._channel = await connection.channel(confirms=True)
                elif isinstance(connection, OpensTransactions):
                    self._channel = await connection.transactional_channel()
                else:
                    raise ConfigurationError("a migration needs a transport with transactions")
        return self._channel

    async def _window(self, most: int) -> tuple[list[Delivery], bool]:
        """The next messages, and if there were no more."""
        channel = await self._open()
        window: list[Delivery] = []
        octets = 0
        while len(window) < most and octets < OCTETS_MAX:
            portion = min(self._portion, most - len(window))
            async with deadline(self.session.site, f"messages of {self.lane.source!r}"):
                answers = await asyncio.gather(
                    *(channel.get(self.lane.source) for _ in range(portion))
                )
            found = [answer for answer in answers if answer is not None]
            window += found
            if len(found) < portion:
                return window, True
            sizes = [len(each.body) + HEADER_OCTETS for each in found]
            octets += sum(sizes)
            self._portion = max(1, min(portion * GROWTH, OCTETS_MAX // max(sizes), MESSAGES_MAX))
        return window, False

    async def _hand_over(self, window: list[Delivery]) -> int:
        lane, session = self.lane, self.session
        session.journal.window(
            lane.source,
            lane.destination,
            [delivery.message_id for delivery in window],
            with_confirms=lane.with_confirms,
        )
        messages = [self._message(delivery) for delivery in window]
        async with deadline(session.site, f"{lane.destination!r} to take {len(window)} messages"):
            if lane.with_confirms:
                return await self._with_confirms(window, messages)
            return await self._in_a_transaction(window, messages)

    def _message(self, delivery: Delivery) -> Message:
        record = Record.of(delivery)
        properties = own(record.properties, self.session.site.endpoint.credentials.username)
        return Message(self.lane.way, delivery.routing_key, delivery.body, properties)

    async def _in_a_transaction(self, window: list[Delivery], messages: list[Message]) -> int:
        channel = self._channel
        assert isinstance(channel, TransactionalChannel)
        for future in await channel.publish_many(messages):
            outcome = await future
            if not isinstance(outcome, Unknown) or not outcome.sent:
                raise Stopped(f"a message of {self.lane.source!r} can't be sent: {outcome}")
        for delivery in window:
            await channel.ack(delivery.delivery_tag)
        returned = await channel.commit()
        if returned:
            await self._put_back(returned)
        self.session.journal.committed(len(window))
        return len(window)

    async def _put_back(self, returned: list[Message]) -> None:
        """Somebody has taken the way to the destination away. The acks are done: these messages are
        here, and nowhere else."""
        source, destination = self.lane.source, self.lane.destination
        channel = await self.session.connection.channel(confirms=True)
        again = [Message("", source, each.body, each.properties) for each in returned]
        outcomes = await asyncio.gather(*await channel.publish_many(again))
        lost = [it for it in outcomes if not isinstance(it, Confirmed)]
        self.session.journal.lost(len(lost))
        raise Stopped(
            f"{destination!r}, or the exchange {self.lane.way!r} to it, was deleted by somebody:"
            f" {len(again) - len(lost)} messages are at the end of {source!r} again"
            + (f", and {len(lost)} are lost" if lost else "")
        )

    async def _with_confirms(self, window: list[Delivery], messages: list[Message]) -> int:
        channel = self._channel
        assert channel is not None
        outcomes = await asyncio.gather(*await channel.publish_many(messages))
        refused, count = "", 0
        for delivery, outcome in zip(window, outcomes, strict=True):
            if isinstance(outcome, Confirmed):
                await channel.ack(delivery.delivery_tag)
                count += 1
            else:
                refused = refused or in_words(outcome)
        if channel.is_open:
            # Answered after the acks, which have no answer of their own.
            await channel.declare_queue(Queue(self.lane.source), passive=True)
        self.session.journal.committed(count)
        if refused:
            raise Stopped(
                f"{self.lane.destination!r} takes no more messages ({refused}): have some consumed,"
                " and run the same command again"
            )
        return count
