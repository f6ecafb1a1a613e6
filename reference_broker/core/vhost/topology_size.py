"""The memory that queues, exchanges and bindings take as such, without a message: what a virtual
host accounts for each as long as it is there. Sizes in bytes, measured in CPython 3.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.base.object_size import object_bytes
from reference_broker.core.exchange.exchange import ExchangeType

if TYPE_CHECKING:
    from reference_broker.core.exchange.binding import Binding
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.queue.queue import Queue

QUEUE_BYTES = 2_400
"""The queue and its parts, and its places in the tables."""

COUNTED_QUEUE_BYTES = 180
"""The counts of a queue that counts deliveries, beside those that are kept."""

EXCHANGE_BYTES = 400
"""The exchange, its tables of bindings, and its matcher."""

BINDING_BYTES = 430
"""The binding, its identity, and its places in the tables."""

DESTINATION_BYTES = 120
"""The table of the bindings that lead to the same destination, by the binding."""

MATCHED_BYTES = {
    ExchangeType.DIRECT: 190,
    ExchangeType.HEADERS: 1_265,
}
"""The part that a matcher of these types keeps of each binding; others refer to it."""

NODE_BYTES = 390
"""A node of a topic exchange's trie: a word of some binding keys."""


def queue_bytes(queue: Queue) -> int:
    """The size of a queue, which stays the same as long as it is there."""
    counted = COUNTED_QUEUE_BYTES if queue.stores_all else 0
    return QUEUE_BYTES + counted + object_bytes(queue.name) + object_bytes(queue.arguments)


def exchange_bytes(exchange: Exchange) -> int:
    """The size of an exchange, without bindings; it stays the same as long as that is there."""
    return EXCHANGE_BYTES + object_bytes(exchange.name) + object_bytes(exchange.arguments)


def binding_bytes(binding: Binding, source: Exchange) -> int:
    """The size of a binding from ``source``, without nodes of a trie; it stays the same."""
    matched = MATCHED_BYTES.get(source.routing_type, 0)
    size = BINDING_BYTES + DESTINATION_BYTES + matched + object_bytes(binding.key)
    if binding.arguments:
        size += object_bytes(binding.arguments) + len(binding.identity[-1])
    return size
