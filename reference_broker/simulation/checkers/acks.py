"""A message whose ack was synced never comes back.

An ack is known to be synced when a persistent message that was published after it on the same
channel is confirmed: there is one log, and it has one order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_broker.simulation.checkers.checker import Checker
from reference_broker.simulation.events import Delivery, Entry, Message, Settlement


class AckChecker(Checker):
    """``gone`` are the entries whose end is known to be on disk, each with the stamp of the
    delivery that was settled: what the broker had sent before that one may still arrive."""

    name = "acks"

    def __init__(self) -> None:
        self.gone: dict[Entry, int] = {}
        self._sent: dict[int, list[tuple[Delivery, Settlement]]] = {}
        self._synced: dict[int, int] = {}

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self._sent.setdefault(delivery.session, []).append((delivery, how))

    def confirmed(self, message: Message) -> None:
        if not message.persistent or not message.queues:
            return
        sent = self._sent.get(message.session, [])
        start = self._synced.get(message.session, 0)
        for delivery, how in sent[start : message.settled_before]:
            if how is not Settlement.REQUEUE:
                self.gone[delivery.entry] = delivery.sent
        self._synced[message.session] = max(start, message.settled_before)

    def session_ended(self, session: int) -> None:
        self._sent.pop(session, None)
        self._synced.pop(session, None)

    def delivered(self, delivery: Delivery) -> None:
        if delivery.sent > self.gone.get(delivery.entry, delivery.sent):
            raise self.fail(
                f"message {delivery.number} was delivered from '{delivery.queue}' again"
            )

    def recovered(self, queues: Mapping[str, Sequence[int]]) -> None:
        for queue, numbers in queues.items():
            for number in numbers:
                if (queue, number) in self.gone:
                    raise self.fail(f"message {number} is in '{queue}' again after a start")
