"""The checks of exchange.declare and exchange.delete, in RabbitMQ's order and words.

They raise, or change nothing.
"""

from __future__ import annotations

from typing import Any

from mqkit.wire import table_type_name
from reference_broker.core.arguments.equivalence import (
    EXCHANGE_ARGUMENTS,
    require_same,
    require_same_arguments,
)
from reference_broker.core.base.names import RESERVED_PREFIX, described, refuse_reserved
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.exchange import (
    ALTERNATE_EXCHANGE,
    DEFAULT_EXCHANGE,
    DELAYED_TYPE,
    Exchange,
    ExchangeType,
)
from reference_broker.core.exchange.hash_match import check_hash_arguments
from reference_broker.errors import ChannelException, ReplyCode

_ATOMS = frozenset(
    [
        "",
        "bad",
        "classic",
        "default",
        "empty",
        "error",
        "exchange",
        "false",
        "global",
        "hash",
        "integer",
        "internal",
        "invalid",
        "local",
        "missing",
        "nil",
        "none",
        "null",
        "ok",
        "other",
        "queue",
        "quorum",
        "random",
        "stream",
        "string",
        "system",
        "test",
        "true",
        "type",
        "undefined",
        "unknown",
        "x",
    ]
)
"""Names that RabbitMQ calls an invalid exchange type, and not an unknown one, since its node has an
atom of that name. These are in every node (asked of 3.10.8); amqp-client.js tests it with "none".
"""


def exchange_type(name: str) -> ExchangeType:
    """Raises :exc:`ChannelException` 406 for a type that the broker does not have (RabbitMQ 4;
    earlier ones close the connection with 503)."""
    try:
        return ExchangeType(name)
    except ValueError:
        adjective = "invalid" if name in _ATOMS else "unknown"
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, f"{adjective} exchange type '{name}'"
        ) from None


def refuse_default(name: str) -> None:
    """Raises :exc:`ChannelException` 403: the default exchange is nobody's to change."""
    if name == DEFAULT_EXCHANGE:
        raise ChannelException(
            ReplyCode.ACCESS_REFUSED, "operation not permitted on the default exchange"
        )


def check_new_exchange(wanted: Exchange, vhost_name: str) -> None:
    """Raises :exc:`ChannelException`: 403 for a reserved name, 406 for an alternate exchange that
    is not named by a string, or arguments that its type can't have."""
    refuse_reserved("exchange", wanted.name)
    alternate = wanted.arguments.get(ALTERNATE_EXCHANGE, "")
    if not isinstance(alternate, str):
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"invalid type '{table_type_name(alternate)}' for arg '{ALTERNATE_EXCHANGE}'"
            f" in {described('exchange', wanted.name, vhost_name)}",
        )
    if wanted.type is ExchangeType.DELAYED:
        _check_delayed_type(wanted.arguments.get(DELAYED_TYPE))
    if wanted.routing_type is ExchangeType.CONSISTENT_HASH:
        check_hash_arguments(wanted.arguments)
    DeduplicationRule.of(wanted.type, wanted.arguments)


def _check_delayed_type(value: Any) -> None:
    """Raises :exc:`ChannelException` 406, with the plugin's text, typing errors included."""
    if not isinstance(value, str) or exchange_type(value) is ExchangeType.DELAYED:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"Invalid argument, '{DELAYED_TYPE}' must bean existing exchnage type",
        )


def check_redeclared_exchange(existing: Exchange, wanted: Exchange, vhost_name: str) -> None:
    """Raises :exc:`ChannelException` 406 when ``wanted`` is another exchange than ``existing``."""
    resource = described("exchange", existing.name, vhost_name)
    require_same("type", wanted.type, existing.type, resource)
    require_same("durable", wanted.durable, existing.durable, resource)
    require_same("auto_delete", wanted.auto_delete, existing.auto_delete, resource)
    require_same("internal", wanted.internal, existing.internal, resource)
    require_same_arguments(wanted.arguments, existing.arguments, resource, EXCHANGE_ARGUMENTS)


def check_exchange_deletion(name: str, vhost_name: str) -> None:
    """Raises :exc:`ChannelException` 403 for the default exchange, and for the broker's own
    whether they exist or not."""
    refuse_default(name)
    if name.startswith(RESERVED_PREFIX):
        raise ChannelException(
            ReplyCode.ACCESS_REFUSED,
            f"deletion of system {described('exchange', name, vhost_name)} not allowed",
        )
