"""The client's messages: what goes out (:class:`Message`), what comes in (:class:`Delivery`).

No type of a protocol library shows here: adapters translate at the seam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

Headers = Mapping[str, object]
"""Headers by name. The values are of the types that a field table has: narrow what you read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The content properties of AMQP 0-9-1 (``basic`` class). ``None`` means "not sent".

    ``expiration_ms`` is the per-message TTL in milliseconds; ``timestamp`` has whole seconds on
    the wire. Messages are persistent unless said otherwise.
    """

    content_type: str | None = None
    content_encoding: str | None = None
    headers: Headers = field(default_factory=dict)
    persistent: bool = True
    priority: int | None = None
    correlation_id: str | None = None
    reply_to: str | None = None
    expiration_ms: int | None = None
    message_id: str | None = None
    timestamp: datetime | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish. ``mandatory`` asks the broker to return it when no queue takes it."""

    exchange: str
    routing_key: str
    body: bytes
    properties: Properties = field(default_factory=Properties)
    mandatory: bool = True


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that arrived. Settle it on the channel it came from, by its ``delivery_tag``.

    ``consumer_tag`` is empty for an answer to ``basic.get``.
    """

    exchange: str
    routing_key: str
    body: bytes
    properties: Properties
    delivery_tag: int
    redelivered: bool
    consumer_tag: str = ""

    @property
    def headers(self) -> Headers:
        """The headers property, never ``None``."""
        return self.properties.headers

    @property
    def message_id(self) -> str | None:
        """The publisher's id of the message, if it sent one."""
        return self.properties.message_id
