"""A queue hands out in the order of publishing, and what is requeued goes back to its place.

What one session published has one order, by number. Clients see a queue through their own
consumers only, so the law is what each of them can know:

1. messages that come as new come in order, whoever else consumes;
2. a consumer that has the queue for itself gets everything in order, but what it requeued itself;
3. once it knows that its requeue was handled (a later publish of its channel is confirmed), nothing
   that was published after the requeued message comes before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.checkers.checker import Checker, Violation
from reference_broker.simulation.events import Delivery, Message, Settlement


class _View:
    """One queue through one session's consumer. The dicts are by publishing session."""

    __slots__ = ("due", "highest", "newest", "requeued")

    def __init__(self) -> None:
        self.newest: dict[int, int] = {}
        self.highest: dict[int, int] = {}
        self.requeued: dict[int, int] = {}
        """By message: the number of settlements that its session had sent, this one included."""
        self.due: dict[int, None] = {}
        """Requeued messages that are known to be ready again."""


class OrderChecker(Checker):
    """``dead_letters`` says where a queue's rejected messages go: those queues have the order of
    rejects, which this doesn't look at."""

    name = "order"

    def __init__(self, dead_letters: Mapping[str, str]) -> None:
        self._unordered = frozenset(dead_letters.values())
        self._publisher: dict[int, int] = {}
        self._views: dict[int, dict[str, _View]] = {}
        self._settlements: dict[int, int] = {}

    def published(self, message: Message) -> None:
        self._publisher[message.number] = message.session

    def delivered(self, delivery: Delivery) -> None:
        if delivery.queue in self._unordered:
            return
        views = self._views.setdefault(delivery.session, {})
        view = views.setdefault(delivery.queue, _View())
        number = delivery.number
        publisher = self._publisher[number]
        if not delivery.redelivered:
            before = view.newest.get(publisher, -1)
            if number <= before:
                raise self._out_of_order(delivery, before)
            view.newest[publisher] = number
        if delivery.alone:
            self._delivered_alone(delivery, view, publisher)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        count = self._settlements.get(delivery.session, 0) + 1
        self._settlements[delivery.session] = count
        if how is Settlement.REQUEUE and delivery.alone and delivery.queue not in self._unordered:
            self._views[delivery.session][delivery.queue].requeued[delivery.number] = count

    def confirmed(self, message: Message) -> None:
        for view in self._views.get(message.session, {}).values():
            for number, count in view.requeued.items():
                if count <= message.settled_before:
                    view.due[number] = None

    def session_ended(self, session: int) -> None:
        self._views.pop(session, None)
        self._settlements.pop(session, None)

    def _delivered_alone(self, delivery: Delivery, view: _View, publisher: int) -> None:
        number = delivery.number
        before = view.highest.get(publisher, -1)
        if number <= before and number not in view.requeued:
            raise self._out_of_order(delivery, before)
        view.highest[publisher] = max(before, number)
        view.requeued.pop(number, None)
        view.due.pop(number, None)
        for due in view.due:
            if due < number and self._publisher[due] == publisher:
                raise self.fail(
                    f"message {number} came from '{delivery.queue}' before {due}, "
                    "which was requeued and is first"
                )

    def _out_of_order(self, delivery: Delivery, before: int) -> Violation:
        return self.fail(f"message {delivery.number} came from '{delivery.queue}' after {before}")
