"""queue.bind, exchange.bind and their opposites: the checks, in RabbitMQ's order and words, and
what is done when they have passed.

A check raises, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_broker.core.base.ids import Ids
from reference_broker.core.base.names import cleaned, not_found
from reference_broker.core.exchange.binding import Binding, BindingIdentity, identity_of
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.exchange.hash_match import check_weight
from reference_broker.core.exchange.headers_match import check_x_match
from reference_broker.core.vhost.exchange_declaration import refuse_default
from reference_broker.core.vhost.queue_declaration import QueueDeclarations, require_access
from reference_broker.core.vhost.topology import Topology, survives_restart

if TYPE_CHECKING:
    from reference_broker.core.vhost.vhost import VHost


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


class BindingDeclarations:
    """Adds and removes the bindings of one virtual host, in its ``topology``. ``ids`` number them
    in the order in which they were made."""

    __slots__ = ("_ids", "_name", "_queues", "_topology", "_vhost")

    def __init__(
        self, vhost: VHost, topology: Topology, queues: QueueDeclarations, ids: Ids
    ) -> None:
        self._vhost = vhost
        self._name = vhost.name
        self._topology = topology
        self._queues = queues
        self._ids = ids

    def bind(
        self,
        source: str,
        destination: str,
        key: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        destination_is_queue: bool,
        owner: object | None = None,
    ) -> None:
        """Bind a queue or an exchange to the exchange ``source``; a binding that is there already
        is fine. It is durable, and the client's -ok must wait, when both ends survive a restart.

        Raises :exc:`ChannelException`: 403 for the default exchange, 404, 405 for another
        connection's queue, 406 for arguments that the exchange can't take, or at ``max_bindings``.
        """
        ends = BindingEnds.named(source, destination, destination_is_queue)
        self._vhost.require_unlocked()
        if destination_is_queue:
            self._queues.there(ends.destination)
        durable = ends.check_bind(self._topology, key, arguments or {}, self._name, owner)
        if self._topology.bindings.get(ends.identity(key, arguments)) is not None:
            return
        self._vhost.bounds.check_bindings(len(self._topology.bindings), ends.source, self._name)
        binding = Binding(
            ends.source,
            ends.destination,
            key,
            arguments,
            destination_is_queue=destination_is_queue,
            durable=durable,
            number=self._ids.next(),
        )
        self._topology.agree_on_binding(binding)
        self._topology.add_binding(binding)

    def unbind(
        self,
        source: str,
        destination: str,
        key: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        destination_is_queue: bool,
        owner: object | None = None,
    ) -> None:
        """Remove a binding; one that is not there is fine, as is a missing end. An auto-delete
        exchange goes with the last binding from it.

        Raises :exc:`ChannelException`: 403 for the default exchange, 405 for a binding of another
        connection's queue.
        """
        ends = BindingEnds.named(source, destination, destination_is_queue)
        self._vhost.require_unlocked()
        binding = self._topology.bindings.get(ends.identity(key, arguments))
        if binding is None:
            return
        if destination_is_queue:
            queue = self._queues.there(ends.destination)
            if queue is None:  # it is just being deleted, and its bindings with it
                return
            require_access(queue, owner, self._name)
        self._topology.agree_without_binding(binding)
        self._vhost.work.start(self._topology.drop_binding(binding), self._name)
