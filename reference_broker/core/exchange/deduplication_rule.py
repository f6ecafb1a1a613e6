"""Deduplication rules: the key that makes two messages the same, and how long keys are remembered.

An ``x-message-deduplication`` exchange (rabbitmq-message-deduplication) knows a message by its
header ``x-deduplication-header``, and takes ``x-cache-size``, ``x-cache-ttl`` and
``x-cache-persistence``. Any other, and any queue, may have a window of message ids, which is ours:
``x-message-id-window`` (how many) and ``x-message-id-window-ms`` (how long).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from reference_broker.core.arguments.queue_arguments import MAX_EXPIRY_MS
from reference_broker.core.base.field_value import comparable
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.message.header import MESSAGE_ID
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode

DEDUPLICATION_HEADER = "x-deduplication-header"
CACHE_SIZE = "x-cache-size"
CACHE_TTL = "x-cache-ttl"
CACHE_PERSISTENCE = "x-cache-persistence"
ID_WINDOW = "x-message-id-window"
ID_WINDOW_MS = "x-message-id-window-ms"

WINDOW_MAX = 1_000_000
"""Keys of one window: 200 bytes each, 600 where the log does not have them."""

ID_WINDOW_DEFAULT = 10_000
ID_WINDOW_MS_DEFAULT = 600_000
"""The time of a window that was given a size only: ten minutes outlast a publisher's retries."""

_DIGEST_BYTES = 16


class DeduplicationRule(NamedTuple):
    """The rule of one window: its key is the message id, or else the header; ``size`` bounds the
    keys in number, ``ttl_ms`` in time, and with ``in_log`` they survive a restart."""

    by_message_id: bool
    size: int
    ttl_ms: int
    in_log: bool = True

    @classmethod
    def of(cls, type: ExchangeType, arguments: Mapping[str, Any]) -> DeduplicationRule | None:
        """The rule that an exchange's type and arguments ask for; ``None`` for none.

        Raises :exc:`ChannelException` 406, for the plugin's arguments with its texts.
        """
        if type is ExchangeType.DEDUPLICATION:
            return cls(
                False,
                _number(arguments, CACHE_SIZE, "Missing or invalid argument", WINDOW_MAX),
                _number(arguments, CACHE_TTL, "Invalid argument", MAX_EXPIRY_MS, MAX_EXPIRY_MS),
                _is_in_log(arguments),
            )
        return cls.of_queue(arguments)

    @classmethod
    def of_queue(cls, arguments: Mapping[str, Any]) -> DeduplicationRule | None:
        """The rule that a queue's arguments ask for; the same way."""
        if ID_WINDOW not in arguments and ID_WINDOW_MS not in arguments:
            return None
        invalid = "Invalid argument"
        return cls(
            True,
            _number(arguments, ID_WINDOW, invalid, WINDOW_MAX, ID_WINDOW_DEFAULT),
            _number(arguments, ID_WINDOW_MS, invalid, MAX_EXPIRY_MS, ID_WINDOW_MS_DEFAULT),
        )

    @classmethod
    def of_stored(
        cls, type: ExchangeType, arguments: Mapping[str, Any]
    ) -> DeduplicationRule | None:
        """:meth:`of` for what is in the log. An earlier version took what it did not know, so what
        would be refused today says nothing."""
        try:
            return cls.of(type, arguments)
        except ChannelException:
            return None

    @classmethod
    def of_stored_queue(cls, arguments: Mapping[str, Any]) -> DeduplicationRule | None:
        """:meth:`of_queue` in the same way."""
        try:
            return cls.of_queue(arguments)
        except ChannelException:
            return None

    def key_of(self, message: MessageHeaders) -> bytes | None:
        """A digest of what it is known by; ``None`` for a message that has nothing of the kind."""
        return _id_key(message) if self.by_message_id else _header_key(message)

    def ttl_of(self, message: MessageHeaders) -> int:
        """The ms for which a message is remembered; it may bring a time of its own (the plugin)."""
        own = None if self.by_message_id else _positive(message().get(CACHE_TTL))
        return self.ttl_ms if own is None else min(own, MAX_EXPIRY_MS)


def keys_of(message: MessageHeaders) -> list[bytes]:
    """The keys by which the windows of all rules know a message."""
    return [key for key in (_id_key(message), _header_key(message)) if key is not None]


def _id_key(message: MessageHeaders) -> bytes | None:
    value = message.property(MESSAGE_ID)
    return None if value is None else _digest(value)


def _header_key(message: MessageHeaders) -> bytes | None:
    found = message().get(DEDUPLICATION_HEADER)
    return None if found is None else _digest(repr(comparable(found)).encode())


def _number(
    arguments: Mapping[str, Any], name: str, complaint: str, most: int, default: int | None = None
) -> int:
    value = default if name not in arguments else _positive(arguments[name])
    if value is None:
        raise _refusal(f"{complaint}, '{name}' must be an integer greater than 0")
    if value > most:
        raise _refusal(f"{complaint}, '{name}' must be {most} at most")
    return value


def _is_in_log(arguments: Mapping[str, Any]) -> bool:
    value = arguments.get(CACHE_PERSISTENCE, "disk")
    if value not in ("disk", "memory"):
        raise _refusal(f"Invalid argument, '{CACHE_PERSISTENCE}' must be either 'disk' or 'memory'")
    return bool(value == "disk")


def _refusal(text: str) -> ChannelException:
    return ChannelException(ReplyCode.PRECONDITION_FAILED, text)


def _positive(value: Any) -> int | None:
    """A whole number above 0, which may come as text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return None


def _digest(octets: bytes) -> bytes:
    return blake2b(octets, digest_size=_DIGEST_BYTES).digest()
