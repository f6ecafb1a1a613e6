"""A parked message as a person sees it, and which of them to choose. Pure.

A parking lot holds two kinds: messages that mqkit parked, with the whole failure in their
headers, and messages that the broker dead-lettered there (an overflow, a rejection), which carry
``x-death`` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mqkit.message import Delivery
from mqkit.retry import headers as names
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.names import owner_of_parking_lot

BROKER_REASONS = {
    "maxlen": "the queue was full",
    "rejected": "a consumer rejected it",
    "expired": "it expired in the queue",
    "delivery_limit": "it was delivered too often",
}
"""``reason`` of an ``x-death`` entry (RabbitMQ "Dead Letter Exchanges"), in words."""

NOTHING_NAMED = KnownLots()
"""Lots and tiers are known by the form of their names."""

SHOWN_BODY_BYTES = 256
"""Bytes of a body that :meth:`ParkedMessage.to_dict` shows: a look, not a download."""


@dataclass(frozen=True, slots=True)
class ParkedMessage:
    """One message in a parking lot; empty text where nobody recorded a thing."""

    delivery: Delivery
    queue: str
    """The queue that it failed on, and goes back to."""
    reason: str
    parked_at: str
    error_type: str
    error_message: str
    attempts: int
    replays: int
    original_exchange: str
    original_routing_key: str

    @classmethod
    def of(cls, delivery: Delivery, lot: str, known: KnownLots = NOTHING_NAMED) -> ParkedMessage:
        """``delivery`` as read from the parking lot ``lot``. Never raises: headers are a peer's."""
        seen = delivery.headers
        recorded = names.ORIGINAL_EXCHANGE in seen
        return cls(
            delivery=delivery,
            queue=queue_of(seen, lot, known),
            reason=_text(seen, names.PARKED_REASON) or _broker_reason(seen),
            parked_at=_text(seen, names.PARKED_AT),
            error_type=_text(seen, names.ERROR_TYPE),
            error_message=_text(seen, names.ERROR_MESSAGE),
            attempts=names.count_of(seen, names.ATTEMPT),
            replays=names.count_of(seen, names.REPLAYS),
            original_exchange=_text(seen, names.ORIGINAL_EXCHANGE)
            if recorded
            else _text(seen, "x-first-death-exchange"),
            original_routing_key=_text(seen, names.ORIGINAL_ROUTING_KEY)
            if recorded
            else _first_death_key(seen),
        )

    @property
    def message_id(self) -> str | None:
        """The publisher's id of the message, if it sent one."""
        return self.delivery.message_id

    def to_dict(self) -> dict[str, Any]:
        """The message as plain values, for ``--json``; the body's beginning as text."""
        body = self.delivery.body
        return {
            "message_id": self.message_id,
            "queue": self.queue,
            "reason": self.reason,
            "parked_at": self.parked_at,
            "error_type": self.error_type,
            "error_message": self.error_message,
            "attempts": self.attempts,
            "replays": self.replays,
            "original_exchange": self.original_exchange,
            "original_routing_key": self.original_routing_key,
            "body": body[:SHOWN_BODY_BYTES].decode("utf-8", "replace"),
            "body_bytes": len(body),
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of parked messages: all conditions that are set must hold; none set means every
    one.

    ``reason`` and ``error`` are looked for as parts of the reason, and of the error's type or
    message, whatever the case of letters. ``headers`` must be equal, by their text.
    """

    message_ids: frozenset[str] = frozenset()
    reason: str = ""
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def matches(self, message: ParkedMessage) -> bool:
        """True if all conditions hold for ``message``."""
        if self.message_ids and message.message_id not in self.message_ids:
            return False
        if self.reason.lower() not in message.reason.lower():
            return False
        if self.error.lower() not in f"{message.error_type}: {message.error_message}".lower():
            return False
        seen = message.delivery.headers
        return all(name in seen and str(seen[name]) == text for name, text in self.headers.items())


def queue_of(seen: Mapping[str, Any], lot: str, known: KnownLots = NOTHING_NAMED) -> str:
    """The queue that a message with these headers, found in ``lot``, goes back to; empty if nobody
    knows.

    A lot called ``q.parked`` is that of ``q``, whatever the headers say, unless a file says
    otherwise. In any other lot a message tells by itself: by what mqkit wrote when it parked it,
    else by the newest ``x-death`` in a queue that is no tier and no lot.
    """
    by_form = owner_of_parking_lot(lot)
    if by_form is not None and known.owner_of(lot) == by_form:
        return by_form
    recorded = _text(seen, names.QUEUE)
    if names.PARKED_AT in seen and recorded:
        return recorded
    died_in = (_text(death, "queue") for death in _deaths(seen))
    at_work = (name for name in died_in if _is_at_work(name, known))
    if newest := next(at_work, "") or recorded:
        return newest
    first = _text(seen, "x-first-death-queue")
    return first if _is_at_work(first, known) else known.owner_of(lot) or ""


def _is_at_work(queue: str, known: KnownLots) -> bool:
    return queue != "" and not known.is_tier(queue) and not known.is_lot(queue)


def _text(seen: Mapping[str, Any], *header_names: str) -> str:
    """The first of the headers that is text."""
    for name in header_names:
        if isinstance(value := seen.get(name), str):
            return value
    return ""


def _deaths(seen: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of ``x-death``, newest first, leaving out what is not a table."""
    deaths = seen.get("x-death")
    if not isinstance(deaths, list):
        return []
    return [entry for entry in deaths if isinstance(entry, Mapping)]


def _broker_reason(seen: Mapping[str, Any]) -> str:
    deaths = _deaths(seen)
    if not deaths:
        return ""
    word = _text(deaths[0], "reason")
    return BROKER_REASONS.get(word, word)


def _first_death_key(seen: Mapping[str, Any]) -> str:
    deaths = _deaths(seen)
    keys = deaths[-1].get("routing-keys") if deaths else None
    return str(keys[0]) if isinstance(keys, list) and keys else ""
