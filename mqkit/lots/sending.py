"""Messages sent to a queue as they are, each confirmed.

Two things would hurt on the way, though nothing of the message is to change:

* ``CC`` and ``BCC`` make a broker route copies to other keys (RabbitMQ "Sender-selected
  Distribution"), over every exchange but those that have no keys. So a message that has one goes
  over a fanout exchange of our own, which is bound to the one queue and goes with its connection.
* ``user-id`` has to be the connection's user (RabbitMQ "Validated User-ID"): another one is kept in
  the header ``x-mqkit-original-user-id``.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from mqkit.declaration import Binding, Exchange
from mqkit.lots.archive.record import Record
from mqkit.lots.link import LotLink
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome
from mqkit.retry.headers import ORIGINAL_USER_ID, ROUTING_HEADERS
from mqkit.transport.native.exact import ExactProperties, exactly
from mqkit.transport.seam import Channel

WINDOW = 100
"""Messages in flight: enough to hide the round trip, few enough to duplicate after a crash."""


@dataclass(slots=True)
class QueueSender:
    """Sends to ``queue`` over ``channel``, which has confirms. Not to be shared."""

    link: LotLink
    channel: Channel
    queue: str
    _detour: str = field(default="", init=False)

    async def send(self, records: Sequence[Record]) -> list[Outcome]:
        """Publish in order and wait for every confirm. Give it a window at a time."""
        messages = [await self._message(record) for record in records]
        async with self.link.step(f"the confirms of {self.queue!r}"):
            confirms = await self.link.publish_over(self.channel, messages)
            return list(await asyncio.gather(*confirms))

    async def end(self) -> None:
        """Take away what the way there needed. Idempotent."""
        if self._detour and self.channel.is_open:
            detour, self._detour = self._detour, ""
            async with self.link.step(f"the end of exchange {detour!r}"):
                await self.channel.delete_exchange(detour)

    async def _message(self, record: Record) -> Message:
        properties = own(record.properties, self.link.endpoint.credentials.username)
        if not any(name in properties.headers for name in ROUTING_HEADERS):
            return Message("", self.queue, record.body, properties)
        return Message(await self._fanout(), self.queue, record.body, properties)

    async def _fanout(self) -> str:
        if not self._detour:
            detour = f"mqkit.lots.{secrets.token_hex(8)}"
            exchange = Exchange(detour, "fanout", durable=False, auto_delete=True)
            async with self.link.step(f"the exchange {detour!r}"):
                await self.channel.declare_exchange(exchange)
                await self.channel.bind(Binding(detour, self.queue))
            self._detour = detour
        return self._detour


def own(properties: ExactProperties, username: str) -> ExactProperties:
    """The properties that the user of that name may send: unchanged, if the user id is his, or
    there is none."""
    if properties.user_id is None or properties.user_id == username:
        return properties
    headers = {**properties.headers, ORIGINAL_USER_ID: properties.user_id}
    return exactly(properties, headers=headers, user_id=None)


def in_words(outcome: Outcome) -> str:
    """An outcome that is no confirm, for a person."""
    if isinstance(outcome, Confirmed):
        return "confirmed"
    return outcome.detail or str(getattr(outcome, "reason", "unknown"))
