"""The law that an expired message is not handed out.

Nobody but the broker knows when a message came to a queue, but it was in all of its queues when it
was confirmed, and in one when it was handed out there: its time ran there from then on at the
latest. It need not come to all of them in the same turn.

The time that a message is due is the broker's that took it, so what was published to an earlier
life of the broker may be off by all that the clock of the machine was set meanwhile, also where it
was first seen in this life.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import Delivery, Message, Start
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.model import lifetime_ms


class ExpiryChecker(Checker):
    """Looks at messages in the queues that they were published to. That none expires too early is
    for :class:`DurabilityChecker` to say, which misses it then."""

    name = "expiry"

    def __init__(self, queues: Mapping[str, QueuePlan], clock: SimulatedClock) -> None:
        self._queues = queues
        self._clock = clock
        self._started_ms = 0
        self._messages: dict[int, Message] = {}
        self._there_ms: dict[tuple[int, str], int] = {}
        """A time at which a queue had a message for certain, by message and queue."""

    def started(self, start: Start) -> None:
        self._started_ms = start.wall_ms

    def published(self, message: Message) -> None:
        self._messages[message.number] = message

    def confirmed(self, message: Message, wall_ms: int) -> None:
        for queue in message.queues:
            self._there_ms.setdefault((message.number, queue), wall_ms)

    def delivered(self, delivery: Delivery) -> None:
        number = delivery.number
        there_ms = self._there_ms.setdefault((number, delivery.queue), delivery.sent_ms)
        message = self._messages[number]
        ttl_ms = lifetime_ms(message, self._queues[delivery.queue])
        if ttl_ms is None or delivery.deaths:
            return
        in_one_life = message.wall_ms >= self._started_ms
        off_ms = self._clock.off_ms(ttl_ms, in_one_life=in_one_life)
        if delivery.sent_ms > there_ms + ttl_ms + off_ms:
            raise self.fail(
                f"message {number} with a TTL of {ttl_ms} ms came from '{delivery.queue}' "
                f"{delivery.sent_ms - there_ms} ms after it was there"
            )
