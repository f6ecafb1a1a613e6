"""Exchanges, queues and bindings as they are kept: a key, and a value in bytes. The journal has
durable ones only; where definitions are shared, the flags say which are not.

    exchange    | 1 | flags u8 | type shortstr | name shortstr | arguments table |
    queue       | 1 | flags u8 | id u64        | name shortstr | arguments table |
    delayed     | 1 | flags u8 | id u64        | name shortstr | arguments table |
    seen        | 1 | flags u8 | id u64        | name shortstr | arguments table |
    queue-seen  | 1 | flags u8 | id u64        | name shortstr | arguments table |
    binding     | 1 | flags u8 | number u64    | source, destination, key shortstr | arguments |
    counts      see reference_broker.core.queue.delivery_counts
    ~delays     see reference_broker.core.queue.delayed_returns
    ~clock      see reference_broker.core.journal.clock_mark

The leading 1 is the version of the layout. Arguments are a field table, so that their types
survive. A key is ``kind/virtual host/name``, with a digest in place of a binding's name: the same
object always has the same key, and defining it again replaces what was there. "delayed" and "seen"
are queues that are part of an exchange, and have its name in their key; "queue-seen" is part of a
queue.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from mqkit.wire import (
    EncodeError,
    WireError,
    decode_shortstr,
    decode_sized_table,
    decode_table,
    encode_shortstr,
    encode_table,
)
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE, key_prefix
from reference_broker.errors import ChannelException, Corrupt, ReplyCode

VERSION = 1

_HEAD = struct.Struct(">BB")
_NUMBERED_HEAD = struct.Struct(">BBQ")
_AUTO_DELETE = 1
_INTERNAL = 2
_TO_QUEUE = 1
_TRANSIENT = 4
_EXCLUSIVE = 8
_DIGEST_BYTES = 16


class QueueDefinition(NamedTuple):
    """A queue, without its messages."""

    id: int
    name: str
    auto_delete: bool
    arguments: dict[str, Any]
    durable: bool = True
    exclusive: bool = False

    @property
    def survives_restart(self) -> bool:
        """True for a queue that outlives a restart: an exclusive one ends with its connection,
        durable or not."""
        return self.durable and not self.exclusive


def exchange_key(vhost_name: str, name: str) -> str:
    return key_prefix(EXCHANGE, vhost_name) + name


def queue_key(vhost_name: str, name: str) -> str:
    return key_prefix(QUEUE, vhost_name) + name


def inner_queue_key(kind: str, vhost_name: str, owner_name: str) -> str:
    """``kind`` is one of ``INNER_QUEUES``, or ``QUEUE_SEEN`` for a queue's name."""
    return key_prefix(kind, vhost_name) + owner_name


def binding_key(vhost_name: str, binding: Binding) -> str:
    # Joined and hashed at once: a queue may go with 100,000 bindings.
    named = (
        b"q" if binding.destination_is_queue else b"e",
        encode_shortstr(binding.source),
        encode_shortstr(binding.destination),
        encode_shortstr(binding.key),
        binding.identity[4],
    )
    digest = hashlib.blake2b(b"".join(named), digest_size=_DIGEST_BYTES)
    return f"{key_prefix(BINDING, vhost_name)}{digest.hexdigest()}"


def encode_exchange(exchange: Exchange) -> bytes:
    """Raises :exc:`ChannelException` 406 for arguments that no field table can hold (which only a
    management client can send)."""
    flags = _AUTO_DELETE * exchange.auto_delete | _INTERNAL * exchange.internal
    flags |= _TRANSIENT * (not exchange.durable)
    return (
        _HEAD.pack(VERSION, flags)
        + encode_shortstr(exchange.type)
        + encode_shortstr(exchange.name)
        + _table(exchange.arguments)
    )


def encode_queue(queue: QueueDefinition) -> bytes:
    """Raises as :func:`encode_exchange` does."""
    flags = _AUTO_DELETE * queue.auto_delete
    flags |= _TRANSIENT * (not queue.durable) | _EXCLUSIVE * queue.exclusive
    return (
        _NUMBERED_HEAD.pack(VERSION, flags, queue.id)
        + encode_shortstr(queue.name)
        + _table(queue.arguments)
    )


def encode_binding(binding: Binding) -> bytes:
    flags = _TO_QUEUE * binding.destination_is_queue | _TRANSIENT * (not binding.durable)
    return (
        _NUMBERED_HEAD.pack(VERSION, flags, binding.number)
        + encode_shortstr(binding.source)
        + encode_shortstr(binding.destination)
        + encode_shortstr(binding.key)
        + _table(binding.arguments)
    )


def decode_exchange(value: bytes) -> Exchange:
    """Raises :exc:`Corrupt`, as the other two do."""
    try:
        version, flags = _HEAD.unpack_from(value)
        _check_version(version)
        type_name, offset = decode_shortstr(value, _HEAD.size)
        name, offset = decode_shortstr(value, offset)
        arguments, _ = decode_sized_table(value, offset)
        return Exchange(
            name,
            ExchangeType(type_name),
            durable=not flags & _TRANSIENT,
            auto_delete=bool(flags & _AUTO_DELETE),
            internal=bool(flags & _INTERNAL),
            arguments=arguments,
        )
    except (WireError, struct.error, ValueError) as error:
        raise _unreadable(EXCHANGE, error) from error


def decode_queue(value: bytes) -> QueueDefinition:
    try:
        version, flags, id = _NUMBERED_HEAD.unpack_from(value)
        _check_version(version)
        name, offset = decode_shortstr(value, _NUMBERED_HEAD.size)
        arguments, _ = decode_sized_table(value, offset)
        return QueueDefinition(
            id,
            name,
            auto_delete=bool(flags & _AUTO_DELETE),
            arguments=arguments,
            durable=not flags & _TRANSIENT,
            exclusive=bool(flags & _EXCLUSIVE),
        )
    except (WireError, struct.error) as error:
        raise _unreadable(QUEUE, error) from error


def decode_binding(value: bytes) -> Binding:
    try:
        version, flags, number = _NUMBERED_HEAD.unpack_from(value)
        _check_version(version)
        source, offset = decode_shortstr(value, _NUMBERED_HEAD.size)
        destination, offset = decode_shortstr(value, offset)
        key, offset = decode_shortstr(value, offset)
        arguments, _ = decode_table(value, offset)
        return Binding(
            source,
            destination,
            key,
            arguments,
            destination_is_queue=bool(flags & _TO_QUEUE),
            durable=not flags & _TRANSIENT,
            number=number,
        )
    except (WireError, struct.error) as error:
        raise _unreadable(BINDING, error) from error


def _table(arguments: Mapping[str, Any]) -> bytes:
    try:
        return encode_table(arguments)
    except EncodeError as error:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, f"invalid arguments: {error}"
        ) from error


def _check_version(version: int) -> None:
    if version != VERSION:
        raise Corrupt(f"a definition has layout {version}; this broker reads {VERSION}")


def _unreadable(kind: str, error: Exception) -> Corrupt:
    return Corrupt(f"the definition of a durable {kind} can't be read: {error}")
