"""The law that a message is marked ``redelivered`` when a client is handed it again.

It holds for every way into a queue: a dead letter whose death a crash has undone dies once more,
and comes with the mark.
"""

from __future__ import annotations

from reference_broker.simulation.events.events import Delivery
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.hand_outs import HandOuts


class RedeliveredChecker(Checker):
    name = "redelivered"

    def __init__(self) -> None:
        self._hand_outs = HandOuts()

    def delivered(self, delivery: Delivery) -> None:
        marked = delivery.redelivered
        if self._hand_outs.is_twice_as_new(delivery.entry, delivery.sent, redelivered=marked):
            raise self.fail(
                f"message {delivery.number} came from '{delivery.queue}' a second time as new"
            )
