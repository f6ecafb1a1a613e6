"""The law of order: a queue hands out in the order of publishing, and a requeued message goes back
to its place.

What one session published into one priority level has one order, by number: a *lane*. Clients see
a queue through their own consumers only, so the law is what each of them can know:

1. messages that come as new come in order, whoever else consumes;
2. a consumer that has the queue for itself gets everything in order, but what it requeued itself;
3. once it knows that its requeue was handled (a later publish of its channel is confirmed), no
   message of a lower priority comes before the requeued one, nor a later one of its lane. (Where
   messages may leave a queue by themselves it can't know that.)
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.events import (
    BitRot,
    Delivery,
    Message,
    Removal,
    Settlement,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker, Violation

_NEVER = 1 << 62

Lane = tuple[int, int]
"""A session that published, and a priority level."""


class _View:
    """One queue through one session's consumer."""

    __slots__ = ("due", "highest", "newest", "removals", "requeued", "stale")

    def __init__(self) -> None:
        self.newest: dict[Lane, int] = {}
        self.highest: dict[Lane, int] = {}
        self.requeued: dict[int, int] = {}
        """By message: the number of settlements that its session had sent, the requeue included."""
        self.due: dict[int, None] = {}
        """Requeued messages that are known to be ready again."""
        self.removals = 0
        """Removals that were asked for, and not answered yet."""
        self.stale: set[int] = set()
        """Messages that were held while the queue was emptied: if it was deleted, they never come
        back."""

    def forget_due(self) -> None:
        """Expect requeued messages no more: the queue is being emptied, so they may come, or
        not."""
        self.due.clear()
        self.requeued = dict.fromkeys(self.requeued, _NEVER)


class OrderChecker(Checker):
    """The checker of order. It doesn't look at dead letters, which come in the order of deaths."""

    name = "order"

    def __init__(self, queues: Mapping[str, QueuePlan]) -> None:
        self._queues = queues
        self._messages: dict[int, Message] = {}
        self._views: dict[int, dict[str, _View]] = {}
        self._settlements: dict[int, int] = {}
        self._damaged: set[int] = set()
        """Messages that may be counted as lost when they are wanted."""

    def published(self, message: Message) -> None:
        self._messages[message.number] = message

    def delivered(self, delivery: Delivery) -> None:
        if delivery.deaths:
            return
        view = self._view(delivery.session, delivery.queue)
        number = delivery.number
        lane = self._lane(delivery.queue, number)
        if not delivery.redelivered:
            before = view.newest.get(lane, -1)
            if number <= before:
                raise self._out_of_order(delivery, before)
            view.newest[lane] = number
        if delivery.alone:
            self._delivered_alone(delivery, view, lane)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        count = self._settlements.get(delivery.session, 0) + 1
        self._settlements[delivery.session] = count
        if how is Settlement.REQUEUE and delivery.alone and not delivery.deaths:
            view = self._views[delivery.session][delivery.queue]
            stays = self._stays(delivery.queue, delivery.number)
            stays = stays and not view.removals and delivery.number not in view.stale
            view.requeued[delivery.number] = count if stays else _NEVER

    def confirmed(self, message: Message, wall_ms: int) -> None:
        for view in self._views.get(message.session, {}).values():
            for number, count in view.requeued.items():
                if count <= message.settled_before:
                    view.due[number] = None

    def removal_sent(self, removal: Removal) -> None:
        view = self._view(removal.session, removal.queue)
        view.forget_due()
        view.removals += 1

    def removed(self, removal: Removal) -> None:
        view = self._view(removal.session, removal.queue)
        view.removals -= 1
        view.stale |= {number for _, number, _ in removal.held}

    def bit_flipped(self, rot: BitRot) -> None:
        self._damaged.update(rot.numbers)
        for views in self._views.values():
            for view in views.values():
                for number in self._damaged & view.requeued.keys():
                    view.requeued[number] = _NEVER
                    view.due.pop(number, None)

    def session_ended(self, session: int) -> None:
        self._views.pop(session, None)
        self._settlements.pop(session, None)

    def _view(self, session: int, queue: str) -> _View:
        return self._views.setdefault(session, {}).setdefault(queue, _View())

    def _lane(self, queue: str, number: int) -> Lane:
        message = self._messages[number]
        return message.session, min(message.priority or 0, self._queues[queue].max_priority)

    def _stays(self, queue: str, number: int) -> bool:
        """True if the message leaves the queue only when a client takes it."""
        plan = self._queues[queue]
        return (
            number not in self._damaged
            and plan.ttl_ms is None
            and plan.max_length is None
            and self._messages[number].expiration_ms is None
        )

    def _delivered_alone(self, delivery: Delivery, view: _View, lane: Lane) -> None:
        number = delivery.number
        before = view.highest.get(lane, -1)
        if number <= before and number not in view.requeued:
            raise self._out_of_order(delivery, before)
        view.highest[lane] = max(before, number)
        view.requeued.pop(number, None)
        view.due.pop(number, None)
        for due in view.due:
            publisher, level = self._lane(delivery.queue, due)
            if level > lane[1] or ((publisher, level) == lane and due < number):
                raise self.fail(
                    f"message {number} came from '{delivery.queue}' before {due}, "
                    "which was requeued and is first"
                )

    def _out_of_order(self, delivery: Delivery, before: int) -> Violation:
        return self.fail(f"message {delivery.number} came from '{delivery.queue}' after {before}")
