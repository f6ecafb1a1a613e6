"""The law that a message is marked ``redelivered`` when a client is handed it again."""

from __future__ import annotations

from bisect import bisect_left

from reference_broker.simulation.events.events import Delivery, Entry, Start
from reference_broker.simulation.watch.checkers.checker import Checker


class RedeliveredChecker(Checker):
    """A dead letter may come as new once more after a start: a crash may have undone its death,
    and then it has died again."""

    name = "redelivered"

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._first_sent: dict[Entry, int] = {}
        """The stamp of an entry's first hand-out that is known."""
        self._sent_as_new: dict[Entry, int] = {}
        """The stamp of an entry's last hand-out without the mark."""

    def started(self, start: Start) -> None:
        self._starts.append(start.stamp)

    def delivered(self, delivery: Delivery) -> None:
        entry, sent = delivery.entry, delivery.sent
        first = self._first_sent[entry] = min(sent, self._first_sent.get(entry, sent))
        if not delivery.redelivered:
            self._sent_as_new[entry] = max(sent, self._sent_as_new.get(entry, sent))
        as_new = self._sent_as_new.get(entry, first)
        if as_new > first and not (delivery.deaths and self._started_between(first, as_new)):
            raise self.fail(
                f"message {delivery.number} came from '{delivery.queue}' a second time as new"
            )

    def _started_between(self, first: int, last: int) -> bool:
        return bisect_left(self._starts, first) < bisect_left(self._starts, last)
