"""The options of a message to publish: properties as keyword arguments, checked at the call.

    await app.publish("orders", "order.paid", order, priority=5, expiration="10m")

Most publishes give none of them, so they are taken as one ``**options``, which costs nothing then.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from mqkit.drafts import new_properties
from mqkit.errors import ConfigurationError
from mqkit.message import IDEMPOTENCY_KEY, Headers, Message
from mqkit.timing.seconds import Span, whole_milliseconds

SHORT_STRING_OCTETS_MAX = 255
"""AMQP 0-9-1 counts the octets of a short string in one octet."""
PRIORITY_MAX = 255
TIMESTAMP_END_S = 2**64
"""AMQP 0-9-1 counts the seconds since 1970 in 64 bits, without a sign."""


class MessageOptions(TypedDict, total=False):
    """Keyword arguments of a publish. ``None`` is the same as not given."""

    priority: int | None
    """0 to 255; a queue sorts by it only if it is declared with ``x-max-priority``."""
    expiration: Span | None
    """The time that the message may wait in a queue before it is dropped or dead-lettered."""
    correlation_id: str | None
    reply_to: str | None
    type: str | None
    """The name of the kind of message; a consumer can choose its handler by it."""
    timestamp: datetime | None
    """With a time zone; sent in whole seconds."""
    app_id: str | None
    persistent: bool
    """True unless said otherwise; a message that is not may be lost when the broker restarts."""
    mandatory: bool
    """True unless said otherwise; if false, a message that no queue takes is dropped by the broker,
    and confirmed."""
    idempotency_key: str | None
    """The name of the work that the message asks for: see
    :attr:`mqkit.message.Delivery.idempotency_key`."""


def with_options(
    message: Message,
    *,
    priority: int | None = None,
    expiration: Span | None = None,
    correlation_id: str | None = None,
    reply_to: str | None = None,
    type: str | None = None,
    timestamp: datetime | None = None,
    app_id: str | None = None,
    persistent: bool = True,
    mandatory: bool = True,
    idempotency_key: str | None = None,
) -> Message:
    """``message``, which has none of these properties yet, with them.

    Raises :exc:`~mqkit.errors.ConfigurationError` naming the first one that can't be sent.
    """
    own = message.properties
    properties = new_properties(
        own.content_type,
        own.content_encoding,
        _keyed(own.headers, idempotency_key),
        _flag("persistent", persistent),
        _priority(priority),
        short_string("correlation_id", correlation_id),
        short_string("reply_to", reply_to),
        None if expiration is None else whole_milliseconds(expiration, "expiration"),
        own.message_id,
        _timestamp(timestamp),
        short_string("type", type),
        own.user_id,
        short_string("app_id", app_id),
    )
    mandatory = _flag("mandatory", mandatory)
    return Message(message.exchange, message.routing_key, message.body, properties, mandatory)


def short_string(name: str, text: str | None) -> str | None:
    """``text``, if AMQP has a place for it. ``name`` is the argument that it was given for.

    Raises :exc:`~mqkit.errors.ConfigurationError`.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ConfigurationError(f"{name}={text!r:.80}: expected a text")
    try:
        octets = len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise ConfigurationError(f"{name}={text!r:.80}: UTF-8 can't carry it") from None
    if octets > SHORT_STRING_OCTETS_MAX:
        raise ConfigurationError(
            f"{name}: AMQP has room for {SHORT_STRING_OCTETS_MAX} octets, and this has {octets}:"
            f" {text!r:.80}"
        )
    return text


def _keyed(headers: Headers, key: str | None) -> Headers:
    if short_string("idempotency_key", key) is None:
        return headers
    if not key:
        raise ConfigurationError("idempotency_key='': an empty key would be everybody's")
    if IDEMPOTENCY_KEY in headers:
        raise ConfigurationError(
            f"idempotency_key={key!r}: the headers have {IDEMPOTENCY_KEY!r} already"
        )
    return {**headers, IDEMPOTENCY_KEY: key}


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name}={value!r:.80}: expected True or False")
    return value


def _priority(priority: int | None) -> int | None:
    if priority is None:
        return None
    if (
        isinstance(priority, bool)
        or not isinstance(priority, int)
        or not 0 <= priority <= PRIORITY_MAX
    ):
        raise ConfigurationError(
            f"priority={priority!r:.80}: expected a whole number, 0 to {PRIORITY_MAX}"
        )
    return priority


def _timestamp(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise ConfigurationError(f"timestamp={moment!r:.80}: expected a datetime")
    if moment.utcoffset() is None:
        raise ConfigurationError(
            f"timestamp={moment!r}: a datetime without a time zone may be any of several moments;"
            " give it one (datetime.now(UTC))"
        )
    if not 0 <= moment.timestamp() < TIMESTAMP_END_S:
        raise ConfigurationError(f"timestamp={moment!r}: AMQP counts seconds from 1970 on")
    return moment
