"""The law that a consumer which has a queue for itself gets no message of a lower priority after a
start, as long as one of a higher priority waits that the start has found.

What a start has found is known; what is published afterwards may come at any time. So the law looks
at each message that was there, until its first hand-out. It ends with the first session of that
life: what was on its way to it comes back nobody knows when.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.events import BitRot, Delivery, Message, Removal, Start
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker


class PriorityChecker(Checker):
    name = "priority"

    def __init__(self, queues: Mapping[str, QueuePlan]) -> None:
        self._plans = {
            plan.name: plan
            for plan in queues.values()
            if plan.max_priority and plan.owner is not None
        }
        self._messages: dict[int, Message] = {}
        self._waiting: dict[str, dict[int, int]] = {}
        """By queue: the level of each message that the start has found, and nobody was handed."""
        self._started = 0
        self._is_rotten = False

    def published(self, message: Message) -> None:
        self._messages[message.number] = message

    def bit_flipped(self, rot: BitRot) -> None:
        self._is_rotten = True  # what waits may be unreadable, and gone
        self._waiting.clear()

    def started(self, start: Start) -> None:
        self._started = start.stamp
        if self._is_rotten:
            return
        self._waiting = {
            name: {
                copy.number: self._level(name, copy.number)
                for copy in start.queues.get(name, ())
                if not copy.deaths and self._stays(plan, copy.number)
            }
            for name, plan in self._plans.items()
        }

    def delivered(self, delivery: Delivery) -> None:
        waiting = self._waiting.get(delivery.queue)
        if waiting is None or delivery.sent < self._started:
            return
        waiting.pop(delivery.number, None)
        if not waiting:
            return
        level = self._level(delivery.queue, delivery.number)
        number, highest = max(waiting.items(), key=lambda each: each[1])
        if level < highest:
            raise self.fail(
                f"message {delivery.number} of priority {level} came from '{delivery.queue}' "
                f"before {number} of priority {highest}, which was there since the start"
            )

    def sent_blindly(self, queue: str, number: int) -> None:
        self._waiting.get(queue, {}).pop(number, None)

    def removal_sent(self, removal: Removal) -> None:
        self._waiting.pop(removal.queue, None)

    def session_ended(self, session: int) -> None:
        self._waiting.clear()

    def _level(self, queue: str, number: int) -> int:
        return min(self._messages[number].priority or 0, self._plans[queue].max_priority)

    def _stays(self, plan: QueuePlan, number: int) -> bool:
        """True if the message leaves the queue only when a client takes it."""
        expiration_ms = self._messages[number].expiration_ms
        return plan.ttl_ms is None and plan.max_length is None and expiration_ms is None
