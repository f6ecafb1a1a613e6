"""The names of queues and exchanges: what is allowed, and how texts speak of them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mqkit.wire import EncodeError, encode_shortstr
from reference_broker.errors import ChannelException, ReplyCode

Kind: TypeAlias = Literal["queue", "exchange"]

RESERVED_PREFIX = "amq."
"""Names that only the broker gives (spec section 3.1.4); RabbitMQ refuses them at every declare."""

GENERATED_PREFIX = "amq.gen-"
"""A queue whose client left the name to the broker."""


def described(kind: Kind, name: str, vhost_name: str) -> str:
    """The words for an object in RabbitMQ's texts."""
    return f"{kind} '{name}' in vhost '{vhost_name}'"


def cleaned(name: str) -> str:
    """The name without line breaks, which RabbitMQ removes from every name that it is given.

    Raises :exc:`ChannelException` 406 for a name that no shortstr can hold (which only a
    management client can send).
    """
    name = name.replace("\r", "").replace("\n", "")
    try:
        encode_shortstr(name)
    except EncodeError as error:
        raise ChannelException(ReplyCode.PRECONDITION_FAILED, f"invalid name: {error}") from error
    return name


def refuse_reserved(kind: Kind, name: str) -> None:
    """Raises :exc:`ChannelException` 403 for a name that only the broker may give."""
    if name.startswith(RESERVED_PREFIX):
        raise ChannelException(
            ReplyCode.ACCESS_REFUSED,
            f"{kind} name '{name}' contains reserved prefix '{RESERVED_PREFIX}*'",
        )


def not_empty(queue_name: str, vhost_name: str) -> ChannelException:
    """The exception for a queue that was to be deleted only if it is empty."""
    where = described("queue", queue_name, vhost_name)
    return ChannelException(ReplyCode.PRECONDITION_FAILED, f"{where} not empty")


def in_use(queue_name: str, vhost_name: str) -> ChannelException:
    """The exception for a queue that was to be deleted only if nobody consumes it."""
    where = described("queue", queue_name, vhost_name)
    return ChannelException(ReplyCode.PRECONDITION_FAILED, f"{where} in use")


def not_found(kind: Kind, name: str, vhost_name: str) -> ChannelException:
    """The exception to raise for an object that is not there."""
    return ChannelException(ReplyCode.NOT_FOUND, f"no {described(kind, name, vhost_name)}")
