"""The client's messages: what goes out (:class:`Message`), what comes in (:class:`Delivery`).

No type of a protocol library shows here: adapters translate at the seam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mqkit.retry.history import History

Headers = Mapping[str, object]
"""Headers by name. The values are of the types that a field table has: narrow what you read."""

IDEMPOTENCY_KEY = "x-mqkit-idempotency-key"
"""The header of the idempotency key: the name of the work that a message asks for, where a message
id names the message. Retry tiers, parking lots and replays carry it on unchanged."""


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

    def with_headers(self, headers: Headers) -> Message:
        """This message with more headers; one of the same name is replaced."""
        merged = {**self.properties.headers, **headers}
        return replace(self, properties=replace(self.properties, headers=merged))


class AttemptRules(Protocol):
    """The rules of a queue, as far as attempts go."""

    @property
    def queue(self) -> str: ...
    @property
    def retries(self) -> int | None:
        """The retries that a message has; ``None`` without a retry policy."""
        ...

    @property
    def parks_for(self) -> tuple[str, ...]:
        """The queues whose parking lot this queue is."""
        ...


class _Ruled:
    """The place for the rules by which a delivery counts its attempts. It is left unset where the
    delivery is made, so that a handler that does not take the delivery pays nothing for it."""

    __slots__ = ("_rules",)

    _rules: AttemptRules


@dataclass(frozen=True, slots=True)
class Delivery(_Ruled):
    """A message that arrived. Settle it on the channel it came from, by its ``delivery_tag``.

    ``consumer_tag`` is empty for an answer to ``basic.get``. ``attempt`` and what follows it are
    computed when they are asked for; in a delivery that no consumer handed to a handler (one made
    by a test) they are what its headers say, and there is no policy.
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

    @property
    def idempotency_key(self) -> str | None:
        """The name of the work that the message asks for (``idempotency_key=`` of a publish), if
        its publisher gave one: do once what comes twice under the same key."""
        key = self.properties.headers.get(IDEMPOTENCY_KEY)
        return key if isinstance(key, str) else None

    @property
    def attempt(self) -> int:
        """The number of this attempt to handle the message: 1 for the first. Failures count, and no
        deliveries: a message that came back because a connection was lost is at the same attempt.
        """
        return self._history.attempt

    @property
    def attempts_left(self) -> int | None:
        """The attempts that the message gets if this one fails, by the waiting times of the queue's
        policy; ``None`` if it has none. An exception that has a rule of its own may leave more, or
        fewer."""
        return self._history.attempts_left

    @property
    def is_last_attempt(self) -> bool:
        """True if there are no :attr:`attempts_left`: a failure now ends in the parking lot, or as
        the policy says. False for a queue without a retry policy."""
        return self._history.attempts_left == 0

    @property
    def first_failure(self) -> datetime | None:
        """The time of the first failure; ``None`` at the first attempt."""
        return self._history.first_failure

    @property
    def original_exchange(self) -> str:
        """The exchange that the message was published to. ``exchange`` is that of the last hop:
        a retry comes over the default exchange."""
        return self._history.original_exchange

    @property
    def original_routing_key(self) -> str:
        """The routing key that the message was published with."""
        return self._history.original_routing_key

    @property
    def _history(self) -> History:
        # Not at the top: that module imports this one.
        from mqkit.retry.history import History

        return History(self, getattr(self, "_rules", None))


def count_attempts_by(rules: AttemptRules, delivery: Delivery) -> None:
    """Have ``delivery`` count its attempts by the rules of the queue that it came from."""
    object.__setattr__(delivery, "_rules", rules)
