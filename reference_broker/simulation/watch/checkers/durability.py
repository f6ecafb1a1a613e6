"""The law that a confirmed message is in each of its queues until it is gone from there by a way
that the reference model knows of, and that each such way takes only messages that it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import (
    BitRot,
    Delivery,
    Losses,
    Message,
    Removal,
    Settlement,
    Start,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.model import Account, Fate, ReferenceModel


class DurabilityChecker(Checker):
    """``gone`` counts what was confirmed, by fate, once everything is drained."""

    name = "durability"

    def __init__(self, queues: Mapping[str, QueuePlan], clock: SimulatedClock) -> None:
        self.gone: Counter[str] = Counter()
        self._queues = queues
        self._model = ReferenceModel(queues, clock)
        self._broker_life = 0

    def published(self, message: Message) -> None:
        self._model.published(message)

    def confirmed(self, message: Message, wall_ms: int) -> None:
        self._model.confirmed(message)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        lives_on = self._queues[delivery.queue].dead_letters_to is not None
        if how is Settlement.REQUEUE:
            return
        if how is Settlement.REJECT and lives_on:
            self._model.rejected(delivery.queue, delivery.number)
            return
        fate = Fate.AUTO_ACKED if how is Settlement.AUTO else Fate.SETTLED
        self._model.settled(delivery.queue, delivery.number, fate)

    def sent_blindly(self, queue: str, number: int) -> None:
        self._model.settled(queue, number, Fate.AUTO_ACKED)

    def blind_get_sent(self, queue: str) -> None:
        self._model.blind_get(queue, 1)

    def blind_get_answered(self, queue: str) -> None:
        self._model.blind_get(queue, -1)

    def removal_sent(self, removal: Removal) -> None:
        self._model.removal(removal)

    def life_ended(self, losses: Losses) -> None:
        self._model.life_ended(losses)

    def bit_flipped(self, rot: BitRot) -> None:
        self._model.bit_flipped(rot)

    def started(self, start: Start) -> None:
        self._broker_life += 1
        self._model.started(start, self._broker_life)
        present = {name: {copy.number for copy in copies} for name, copies in start.queues.items()}
        # What is not for the disk was forgotten just now, and what came since isn't confirmed.
        account = self._model.account(
            lambda queue, number: number in present.get(queue, ()), start.wall_ms
        )
        self._judge(account, "a start")

    def drained(self, losses: Losses, wall_ms: int) -> None:
        self._model.life_ended(losses)
        account = self._model.account(lambda queue, number: False, wall_ms)
        self._judge(account, "everything was consumed")
        self.gone = Counter({fate.value: count for fate, count in account.gone.items()})

    def _judge(self, account: Account, after: str) -> None:
        life = account.first_lost
        if life is not None:
            raise self.fail(
                f"{account.lost} confirmed messages are gone after {after}; "
                f"the first is {life.message.number} in '{life.plan.name}'",
                lost=account.lost,
            )
