"""What a client was handed before is marked ``redelivered`` when it comes again."""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.checkers.checker import Checker
from reference_broker.simulation.events import Delivery, Entry, Settlement


class RedeliveredChecker(Checker):
    """``dead_letters`` says where a queue's rejected messages go: each reject makes a new entry
    there. (It may be the second one, after a crash that forgot the first.)"""

    name = "redelivered"

    def __init__(self, dead_letters: Mapping[str, str]) -> None:
        self._dead_letters = dead_letters
        self._first_sent: dict[Entry, int] = {}
        """The stamp of the first hand-out that is known."""
        self._sent_as_new: dict[Entry, int] = {}
        """The stamp of the last one without the mark."""

    def delivered(self, delivery: Delivery) -> None:
        entry, sent = delivery.entry, delivery.sent
        first = self._first_sent[entry] = min(sent, self._first_sent.get(entry, sent))
        if not delivery.redelivered:
            self._sent_as_new[entry] = max(sent, self._sent_as_new.get(entry, sent))
        if self._sent_as_new.get(entry, first) > first:
            raise self.fail(
                f"message {delivery.number} came from '{delivery.queue}' a second time as new"
            )

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        target = self._dead_letters.get(delivery.queue)
        if how is Settlement.REJECT and target is not None:
            self._first_sent.pop((target, delivery.number), None)
            self._sent_as_new.pop((target, delivery.number), None)
