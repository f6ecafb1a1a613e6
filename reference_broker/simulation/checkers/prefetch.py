"""A consumer never holds more unsettled messages than its prefetch."""

from __future__ import annotations

from reference_broker.simulation.checkers.checker import Checker
from reference_broker.simulation.events import Delivery, Settlement


class PrefetchChecker(Checker):
    """Counts what a client was handed, less what it has sent a settlement for: the broker can't
    know of more settlements than were sent, so this is never above what it counts itself."""

    name = "prefetch"

    def __init__(self) -> None:
        self._held: dict[tuple[int, str], int] = {}

    def delivered(self, delivery: Delivery) -> None:
        consumer = (delivery.session, delivery.queue)
        held = self._held.get(consumer, 0) + 1
        self._held[consumer] = held
        if delivery.prefetch and held > delivery.prefetch:
            raise self.fail(
                f"a consumer of '{delivery.queue}' with a prefetch of {delivery.prefetch} "
                f"holds {held} messages"
            )

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self._held[delivery.session, delivery.queue] -= 1
