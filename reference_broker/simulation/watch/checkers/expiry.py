"""The law that an expired message is not handed out.

Nobody but the broker knows when a message came to it, but it was there when it was confirmed, and
when it was handed out: its time ran from then on at the latest.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.events import Delivery, Message
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.model import lifetime_ms


class ExpiryChecker(Checker):
    """Looks at messages in the queues that they were published to. That none expires too early is
    for :class:`DurabilityChecker` to say, which misses it then."""

    name = "expiry"

    def __init__(self, queues: Mapping[str, QueuePlan]) -> None:
        self._queues = queues
        self._messages: dict[int, Message] = {}
        self._there_ms: dict[int, int] = {}
        """A time at which the broker had a message for certain, by message."""

    def published(self, message: Message) -> None:
        self._messages[message.number] = message

    def confirmed(self, message: Message, wall_ms: int) -> None:
        self._there_ms.setdefault(message.number, wall_ms)

    def delivered(self, delivery: Delivery) -> None:
        number = delivery.number
        there_ms = self._there_ms.setdefault(number, delivery.sent_ms)
        ttl_ms = lifetime_ms(self._messages[number], self._queues[delivery.queue])
        if ttl_ms is None or delivery.deaths:
            return
        if delivery.sent_ms > there_ms + ttl_ms:
            raise self.fail(
                f"message {number} with a TTL of {ttl_ms} ms came from '{delivery.queue}' "
                f"{delivery.sent_ms - there_ms} ms after it was there"
            )
