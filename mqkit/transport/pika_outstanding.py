"""The messages of one confirm channel that the broker has not answered yet. Pure: no I/O.

**How a return finds its message.** ``basic.return`` carries no delivery tag, and message ids may
repeat. But a broker handles a channel's publishes in order, so returns come in publish order, and
each before the ack of its own message. So a return belongs to the first message after the last
returned one that is still unanswered and has the same exchange, routing key, body and properties.
Where several are the same in all of these, they are one and the same message to everybody: which
of them is called the returned one makes no difference to what the caller must do (publish that
content again, or not).
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason


@dataclass(slots=True)
class Entry:
    """One message in flight. ``cost_bytes`` is what it takes of the window."""

    message: Message
    future: Future[Outcome]
    cost_bytes: int
    returned: str | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """A ``basic.return`` as it came in; ``why`` is the broker's code and text."""

    exchange: str
    routing_key: str
    body: bytes
    properties: Properties
    why: str


class Outstanding:
    """Delivery tags count publishes on the channel, from 1 (RabbitMQ, "Publisher Confirms")."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._next_tag = 1
        self._lowest_tag = 1
        self._last_returned_tag = 0

    def __len__(self) -> int:
        return len(self._entries)

    def sent(self, entry: Entry) -> int:
        """Record a message at the moment that it is written; returns its delivery tag."""
        tag = self._next_tag
        self._next_tag = tag + 1
        self._entries[tag] = entry
        return tag

    def returned(self, arrived: Return) -> bool:
        """Mark the message that was returned; its ack is still to come. False if none fits."""
        onwards = range(self._last_returned_tag + 1, self._next_tag)
        for tags, strict in ((onwards, True), (onwards, False), (self._entries, False)):
            for tag in tags:
                entry = self._entries.get(tag)
                if entry is not None and _fits(entry, arrived, strict=strict):
                    entry.returned = arrived.why
                    self._last_returned_tag = tag
                    return True
        return False

    def settled(self, delivery_tag: int, *, multiple: bool) -> list[Entry]:
        """Remove what an ack or nack answers. A tag that is not outstanding answers nothing;
        0 with ``multiple`` answers all (AMQP 0-9-1, ``basic.ack.multiple``)."""
        if not multiple:
            entry = self._entries.pop(delivery_tag, None)
            return [] if entry is None else [entry]
        last = delivery_tag or self._next_tag - 1
        tags = range(self._lowest_tag, min(last, self._next_tag - 1) + 1)
        self._lowest_tag = max(self._lowest_tag, tags.stop)
        return [self._entries.pop(tag) for tag in tags if tag in self._entries]

    def abandoned(self) -> list[Entry]:
        """Remove and return everything: no answer will come any more."""
        entries = list(self._entries.values())
        self._entries.clear()
        return entries


def outcome(entry: Entry, *, acked: bool) -> Outcome:
    """What a message came to. An unroutable message is acked too: the return decides."""
    message_id = entry.message.properties.message_id
    if entry.returned is not None:
        return Rejected(RejectReason.UNROUTABLE, entry.returned, message_id)
    if acked:
        return Confirmed(message_id)
    return Rejected(RejectReason.NACKED, "the broker nacked the message", message_id)


def _fits(entry: Entry, arrived: Return, *, strict: bool) -> bool:
    """Whether a return may be this entry's. Header values may change their type on the way
    through a codec, so headers only count where ``strict``."""
    message = entry.message
    return (
        message.mandatory
        and entry.returned is None
        and message.routing_key == arrived.routing_key
        and message.exchange == arrived.exchange
        and message.properties.message_id == arrived.properties.message_id
        and message.properties.correlation_id == arrived.properties.correlation_id
        and message.body == arrived.body
        and (not strict or dict(message.properties.headers) == dict(arrived.properties.headers))
    )
