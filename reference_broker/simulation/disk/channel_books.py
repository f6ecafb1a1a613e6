"""The books of the broker's channels, counted again from their unacked deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reference_broker.core.broker import Broker
from reference_broker.core.channel.channel import Channel
from reference_broker.core.queue.lease import Lease
from reference_broker.simulation.events.events import ChannelBook


def channel_books_of(broker: Broker) -> list[ChannelBook]:
    """The counts that each channel keeps, and what is there. Between two inputs, and with no work
    left over: a request that is half done has its books half written."""
    channels = [
        channel
        for connection in broker.connections.values()
        for channel in connection.channels.values()
    ]
    books = [book for channel in channels for book in _books_of(channel)]
    transactions = [each.transaction for each in channels if each.transaction is not None]
    sizes = sum(transaction._size for transaction in transactions)
    books.append(ChannelBook("bytes of all transactions", broker.transactions.held_bytes, sizes))
    handed_out = sum(len(queue.leases) for queue in broker.queues_by_id.values())
    # Those of a queue that was deleted stay with their channel until it settles them.
    held = sum(not each.queue.deleted for channel in channels for each in _leases_of(channel))
    books.append(ChannelBook("messages that queues have handed out", handed_out, held))
    return books


def _books_of(channel: Channel) -> Iterator[ChannelBook]:
    name = f"channel {channel.number} of connection {channel.connection.id}"
    leases = _leases_of(channel)
    held = Counter(id(lease.holder) for lease in leases)
    consumers = channel.consumers.values()
    for consumer in consumers:
        yield ChannelBook(
            f"outstanding of consumer '{consumer.tag}' on {name}",
            consumer.outstanding,
            held[id(consumer)],
        )
    by_consumers = sum(lease.holder is not channel for lease in leases)
    yield ChannelBook(f"outstanding of {name}", channel.outstanding, by_consumers)
    transaction = channel.transaction
    if transaction is not None:
        settled = sum(len(each.leases) for each in transaction._settlements)
        yield ChannelBook(f"uncommitted settlements of {name}", transaction.unacked, settled)


def _leases_of(channel: Channel) -> list[Lease]:
    leases = list(channel.unacked.values())
    if channel.transaction is not None:
        for settlement in channel.transaction._settlements:
            leases += settlement.leases.values()
    return leases
