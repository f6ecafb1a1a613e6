"""Is a declaration the same as the object that exists? RabbitMQ's answer, in its words.

Declaring again is how clients make sure, so it must succeed exactly when nothing differs. Only
arguments that have an effect are compared; unknown ones are ignored (rabbit_misc and
rabbit_amqqueue:assert_args_equivalence; the order is the order in which differences are reported).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqkit.wire import table_type_name
from reference_broker.core.base.field_value import comparable, printed
from reference_broker.errors import ChannelException, ReplyCode

EXCHANGE_ARGUMENTS = ("alternate-exchange",)
"""The one argument of an exchange that RabbitMQ compares."""

QUEUE_ARGUMENTS = (
    "x-expires",
    "x-message-ttl",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-priority",
    "x-overflow",
    "x-queue-mode",
    "x-queue-version",
    "x-single-active-consumer",
    "x-queue-type",
    "x-queue-master-locator",
    "x-delivery-limit",
    "x-dead-letter-strategy",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-quorum-initial-group-size",
    "x-queue-leader-locator",
)
"""The arguments of a queue that RabbitMQ compares; the last six are those of quorum queues."""

_QUEUE_TYPE = "x-queue-type"
_DEFAULT_QUEUE_TYPE = "classic"
_NONE = "none"


def require_same(name: str, received: bool | str, current: bool | str, resource: str) -> None:
    """Raises :exc:`ChannelException` 406 when a property differs (``durable``, ``type`` ...)."""
    if received != current:
        raise _inequivalent(name, resource, _quoted(received), _quoted(current))


def require_same_arguments(
    received: Mapping[str, Any],
    current: Mapping[str, Any],
    resource: str,
    compared: Sequence[str],
) -> None:
    """Raises :exc:`ChannelException` 406 for the first of ``compared`` that differs."""
    for name in compared:
        if name in received and name in current:
            new, old = received[name], current[name]
            if comparable(new) != comparable(old):
                raise _inequivalent(name, resource, _quoted(new), _quoted(old))
        elif name in received:
            if not _is_default(name, received[name]):
                raise _inequivalent(name, resource, _typed(received[name]), _NONE)
        elif name in current and not _is_default(name, current[name]):
            raise _inequivalent(name, resource, _NONE, _typed(current[name]))


def _is_default(name: str, value: Any) -> bool:
    """Some clients name the default queue type, and some don't: the same declaration."""
    return name == _QUEUE_TYPE and value == _DEFAULT_QUEUE_TYPE


def _quoted(value: Any) -> str:
    return _NONE if value is None else f"'{printed(value)}'"


def _typed(value: Any) -> str:
    return f"the value '{printed(value)}' of type '{table_type_name(value)}'"


def _inequivalent(name: str, resource: str, received: str, current: str) -> ChannelException:
    return ChannelException(
        ReplyCode.PRECONDITION_FAILED,
        f"inequivalent arg '{name}' for {resource}: received {received} but current is {current}",
    )
