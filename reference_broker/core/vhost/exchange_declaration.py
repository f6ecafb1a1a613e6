"""exchange.declare and exchange.delete: their checks, in RabbitMQ's order and words, and what is
done when they have passed.

A check raises, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mqkit.wire import table_type_name
from reference_broker.core.access.permission import Action
from reference_broker.core.arguments.equivalence import (
    EXCHANGE_ARGUMENTS,
    require_same,
    require_same_arguments,
)
from reference_broker.core.base.names import (
    RESERVED_PREFIX,
    cleaned,
    described,
    not_found,
    refuse_reserved,
)
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.exchange import (
    ALTERNATE_EXCHANGE,
    DEFAULT_EXCHANGE,
    DELAYED_TYPE,
    Exchange,
    ExchangeType,
)
from reference_broker.core.exchange.hash_match import check_hash_arguments
from reference_broker.core.vhost.method_access import UNRESTRICTED, DeclareAccess
from reference_broker.core.work.budget import DECLARATION_UNITS
from reference_broker.core.work.task import followed_by
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.vhost.topology import Topology
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.task import Steps

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


class ExchangeDeclarations:
    """Declares and deletes the exchanges of one virtual host, in its ``topology``."""

    __slots__ = ("_exchanges", "_name", "_topology", "_vhost")

    def __init__(self, vhost: VHost, topology: Topology) -> None:
        self._vhost = vhost
        self._name = vhost.name
        self._topology = topology
        self._exchanges: Mapping[str, Exchange] = topology.exchanges

    def declare(
        self,
        name: str,
        type: str,
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Mapping[str, Any] | None = None,
        access: DeclareAccess = UNRESTRICTED,
    ) -> Exchange:
        """The exchange of that name, made if it is not there. With ``passive`` only the name
        counts. If it is durable, the client's -ok must wait for the journal.

        Raises :exc:`ChannelException`: 403 for a name that is not the client's to give or that
        ``access`` refuses, 404 where a passive one is not there, 406 for an unknown type, a bad
        argument, a difference from the exchange that is there, or at ``max_exchanges``.
        """
        name = cleaned(name)
        if name not in self._exchanges:
            self._vhost.require_unlocked()
        if passive:
            refuse_default(name)
            return self.named(name)
        wanted = Exchange(
            name,
            exchange_type(type),
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            arguments=arguments,
        )
        refuse_default(name)
        access.require(Action.CONFIGURE, "exchange", name)
        existing = self._exchanges.get(name)
        if existing is not None:
            check_redeclared_exchange(existing, wanted, self._name)
            return existing
        self._topology.require_gone(name, is_queue=False)
        check_new_exchange(wanted, self._name)
        access.require_alternate(name, wanted.arguments)
        self._vhost.bounds.check_exchanges(len(self._exchanges), name, self._name)
        self._topology.agree_on_exchange(wanted)
        self.enter(wanted)
        return wanted

    def enter(self, exchange: Exchange) -> None:
        """Have an exchange whose name is free be there, as was agreed."""
        self._vhost.inner_queues.add_to_exchange(exchange)
        self._vhost.policies.adopt_exchange(exchange)
        self._topology.add_exchange(exchange)

    def delete(
        self,
        name: str,
        *,
        if_unused: bool = False,
        access: DeclareAccess = UNRESTRICTED,
        answer: Callable[[], None] = lambda: None,
    ) -> None:
        """Delete the exchange, what it holds and has seen, and every binding from it and to it; one
        that is not there is fine. ``answer`` is called when all of it is done: now, or in a later
        turn.

        Raises :exc:`ChannelException`: 403 for the broker's own or what ``access`` refuses, 406
        with ``if_unused`` while something is bound to it (what it is bound to does not count).
        """
        name = cleaned(name)
        check_exchange_deletion(name, self._name)
        access.require(Action.CONFIGURE, "exchange", name)
        self._vhost.require_unlocked()
        exchange = self._exchanges.get(name)
        if exchange is None:
            answer()
            return
        if if_unused and exchange.bindings:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"{described('exchange', name, self._name)} in use",
            )
        self._vhost.budget.left -= DECLARATION_UNITS
        self._topology.agree_without_exchange(exchange)
        self._vhost.work.start(
            followed_by(self._topology.drop_exchange(exchange), answer), self._name
        )

    def going_with_vhost(self, exchange: Exchange) -> Steps:
        """Have an exchange go with its virtual host; returns the steps that remain."""
        self._topology.forget_exchange(exchange)
        return self._topology.drop_exchange(exchange)

    def named(self, name: str) -> Exchange:
        """The exchange of that name. Raises :exc:`ChannelException` 404."""
        exchange = self._exchanges.get(name)
        if exchange is None:
            raise not_found("exchange", name, self._name)
        return exchange
