"""A consumer of a queue that counts deliveries: who gets a message again is told how often."""

from __future__ import annotations

from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.core.queue.lease import Lease


class CountingConsumer(Consumer):
    """The same as :class:`Consumer`, with ``x-delivery-count`` and ``x-acquired-count`` in the
    headers of what was handed out before. The queue keeps the message as it was published."""

    __slots__ = ()

    def deliver(self, lease: Lease) -> None:
        published = lease.content
        lease.content = shown_content(lease)
        super().deliver(lease)
        lease.content = published
