"""The checks of queue.bind and exchange.bind, in RabbitMQ's order and words.

They raise, or change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reference_broker.core.base.names import cleaned, not_found
from reference_broker.core.exchange.binding import BindingIdentity, identity_of
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.exchange.hash_match import check_weight
from reference_broker.core.exchange.headers_match import check_x_match
from reference_broker.core.vhost.exchange_declaration import refuse_default
from reference_broker.core.vhost.queue_declaration import require_access
from reference_broker.core.vhost.topology import Topology, survives_restart


class BindingEnds(NamedTuple):
    """The source and the destination of a binding that a client wants to add or remove."""

    source: str
    destination: str
    destination_is_queue: bool

    @classmethod
    def named(cls, source: str, destination: str, destination_is_queue: bool) -> BindingEnds:
        """Raises :exc:`ChannelException` 403 where either is the default exchange."""
        ends = cls(cleaned(source), cleaned(destination), destination_is_queue)
        refuse_default(ends.source)
        if not destination_is_queue:
            refuse_default(ends.destination)
        return ends

    def identity(self, key: str, arguments: Mapping[str, Any] | None) -> BindingIdentity:
        """Raises :exc:`ChannelException` 406 for a key or arguments that can't be encoded."""
        return identity_of(
            self.source,
            self.destination,
            key,
            arguments or {},
            destination_is_queue=self.destination_is_queue,
        )

    def check_bind(
        self,
        topology: Topology,
        key: str,
        arguments: Mapping[str, Any],
        vhost_name: str,
        owner: object | None,
    ) -> bool:
        """True when both ends survive a restart, and so the binding would.

        Raises :exc:`ChannelException`: 404 for the source, then for the destination, 406 for a key
        or arguments that the source can't take, 405 for another connection's queue.
        """
        source = topology.exchanges.get(self.source)
        if source is None:
            raise not_found("exchange", self.source, vhost_name)
        if self.destination_is_queue:
            queue = topology.queues.get(self.destination)
            if queue is None:
                raise not_found("queue", self.destination, vhost_name)
        else:
            queue = None
            if self.destination not in topology.exchanges:
                raise not_found("exchange", self.destination, vhost_name)
        _check_type(source.routing_type, key, arguments)
        if queue is None:
            return source.durable and topology.exchanges[self.destination].durable
        require_access(queue, owner, vhost_name)
        return source.durable and survives_restart(queue)


def _check_type(type: ExchangeType, key: str, arguments: Mapping[str, Any]) -> None:
    """Raises :exc:`ChannelException` 406 for what an exchange of the type can't take."""
    if type is ExchangeType.HEADERS:
        check_x_match(arguments)
    elif type is ExchangeType.CONSISTENT_HASH:
        check_weight(key)
