"""The objects that are declared in a virtual host, as the client declares them."""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from reference_broker.core.vhost.vhost import VHost

PREDECLARED = "amq."


def declarations(vhost: VHost) -> tuple[Declaration, ...]:
    """All that clients have declared there. For the broker's thread."""
    return tuple(_declarations(vhost))


def _declarations(vhost: VHost) -> Iterator[Declaration]:
    for exchange in vhost.exchanges.values():
        if exchange.name and not exchange.name.startswith(PREDECLARED):
            yield Exchange(
                exchange.name,
                exchange.type,
                exchange.durable,
                exchange.auto_delete,
                exchange.internal,
                exchange.arguments,
            )
    for queue in vhost.queues.values():
        if queue.owner is None and not queue.name.startswith(PREDECLARED):
            yield Queue(queue.name, queue.durable, False, queue.auto_delete, queue.arguments)
    for each in vhost.bindings():
        if each.source:
            yield Binding(
                each.source,
                each.destination,
                each.key,
                not each.destination_is_queue,
                each.arguments,
            )
