"""The law that a message that is known to be gone never comes back: one whose ack was synced, one
that was purged, one whose queue was deleted.

An ack is known to be synced when a persistent message that was published after it on the same
channel is confirmed: there is one log, and it has one order. The answers to queue.purge and
queue.delete leave only when they are synced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_broker.simulation.events.events import (
    BitRot,
    Copy,
    Delivery,
    Entry,
    Message,
    Removal,
    RemovalKind,
    Settlement,
    Start,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker


class AckChecker(Checker):
    """``gone`` are the entries whose end is known to be on disk, each with the stamp of when it was
    known to the broker: what it had sent before that may still arrive."""

    name = "acks"

    def __init__(self, queues: Mapping[str, QueuePlan]) -> None:
        self.gone: dict[Entry, int] = {}
        self._queues = queues
        self._sent: dict[int, list[tuple[Delivery, Settlement]]] = {}
        self._synced: dict[int, int] = {}
        self._confirmed: dict[str, dict[int, Message]] = {}
        """Confirmed messages by queue: a removal would take all of them."""
        self._taken: dict[Removal, list[Message]] = {}
        self._rotten_until = 0

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self._sent.setdefault(delivery.session, []).append((delivery, how))

    def confirmed(self, message: Message, wall_ms: int) -> None:
        for queue in message.queues:
            plan = self._queues[queue]
            if plan.purged or plan.disposable:
                self._confirmed.setdefault(queue, {})[message.number] = message
        if not message.persistent or not any(self._queues[q].durable for q in message.queues):
            return
        sent = self._sent.get(message.session, [])
        start = self._synced.get(message.session, 0)
        for delivery, how in sent[start : message.settled_before]:
            if how is not Settlement.REQUEUE:
                self._note(delivery.entry, delivery.sent, delivery.sent)
        self._synced[message.session] = max(start, message.settled_before)

    def removal_sent(self, removal: Removal) -> None:
        """Every message that was confirmed by now will be in the queue then, or in the hands of its
        owner."""
        self._taken[removal] = list(self._confirmed.get(removal.queue, {}).values())

    def removed(self, removal: Removal) -> None:
        """The answer to a removal came. A purge leaves messages that are handed out. Nobody but the
        client that purges takes from that queue: so it holds them all, as deliveries that were sent
        before the answer have arrived before it."""
        assert removal.done is not None
        purged = removal.kind is RemovalKind.PURGE
        for message in self._taken.pop(removal):
            entry = (removal.queue, message.number, 0)
            if not (purged and entry in removal.held):
                self._confirmed[removal.queue].pop(message.number, None)
                self._note(entry, removal.sent, removal.done)

    def session_ended(self, session: int) -> None:
        self._sent.pop(session, None)
        self._synced.pop(session, None)

    def bit_flipped(self, rot: BitRot) -> None:
        """The record of the end of any message so far may have stood at the flipped bit."""
        if rot.speaks or rot.defines:
            self.gone.clear()
            self._rotten_until = rot.stamp

    def delivered(self, delivery: Delivery) -> None:
        if delivery.sent > self.gone.get(delivery.entry, delivery.sent):
            raise self.fail(
                f"message {delivery.number} was delivered from '{delivery.queue}' again"
            )

    def started(self, start: Start) -> None:
        for queue, copies in start.queues.items():
            self._check(queue, copies)

    def _check(self, queue: str, copies: Iterable[Copy]) -> None:
        for copy in copies:
            if (queue, copy.number, copy.deaths) in self.gone:
                raise self.fail(f"message {copy.number} is in '{queue}' again after a start")

    def _note(self, entry: Entry, logged_after: int, known: int) -> None:
        if logged_after >= self._rotten_until:
            self.gone[entry] = known
