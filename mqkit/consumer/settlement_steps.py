"""Carrying out a settlement: the republish is confirmed before the original is acked.

Whatever goes wrong on the way ends in a requeue or in nothing at all, and then the broker delivers
the message again: twice is possible, never is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mqkit.consumer.failure_log import FailureLog
from mqkit.consumer.hooks import Hooks
from mqkit.consumer.observing.failures import Failures
from mqkit.consumer.pause import Pause
from mqkit.consumer.republish import PublishMany
from mqkit.consumer.settlement import (
    HANDLED,
    Ack,
    DeadLetter,
    Destination,
    Discard,
    Hold,
    QueueRules,
    Republish,
    Requeue,
    Settlement,
    settlement_of,
)
from mqkit.consumer.stats import Stats
from mqkit.errors import MqkitError, StaleDelivery
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome, Unknown
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.transport.seam import Channel


@dataclass(frozen=True, slots=True)
class Arrival:
    """A delivery, and the channel that it must be settled on."""

    channel: Channel
    delivery: Delivery


def utc_now() -> datetime:
    """The time that goes into the headers of what failed."""
    return datetime.now(UTC)


class Settler:
    """Settles the deliveries of one queue. Never raises for what a broker or a handler did."""

    def __init__(
        self,
        rules: QueueRules,
        publish_many: PublishMany,
        stats: Stats,
        pause: Pause,
        now: Callable[[], datetime] = utc_now,
        clock: Clock = SYSTEM_CLOCK,
        hooks: Hooks | None = None,
    ) -> None:
        self.stats = stats
        self.pause = pause
        self._rules = rules
        self._publish_many = publish_many
        self._now = now
        self._hooks = hooks
        self.clock = clock
        """The clock that the consumer waits by."""
        self.failures: Failures = FailureLog(rules.queue, clock)

    @property
    def rules(self) -> QueueRules:
        """The rules of the queue."""
        return self._rules

    def decide(self, delivery: Delivery, raised: BaseException | None) -> Settlement:
        """The settlement of ``delivery``; told in the log where the handler raised."""
        if raised is None:
            return HANDLED  # what the clock says does not matter
        settlement = self.settlement_of(delivery, raised)
        self.failures.tell([delivery], raised, settlement)
        return settlement

    def settlement_of(self, delivery: Delivery, raised: BaseException | None) -> Settlement:
        """:meth:`decide`, and nobody is told."""
        return settlement_of(self._rules, delivery, raised, self._now())

    def failed_too_late(self, delivery: Delivery, raised: Exception) -> None:
        """``delivery`` was settled already when its handler raised ``raised``: that is counted and
        told, no more."""
        self.stats.failed_too_late += 1
        self.failures.too_late(delivery, raised)

    async def told_to_hold(self, delivery: Delivery, raised: Exception, hold: Hold) -> Settlement:
        """``hold``, of which the log and the queue's hooks have been told; something else where a
        hook raised."""
        self.failures.tell([delivery], raised, hold)
        if self._hooks is None:
            return hold
        return await self._hooks.tell(delivery, raised, hold)

    async def told_of(
        self,
        deliveries: Sequence[Delivery],
        raised: Sequence[BaseException | None],
        settlements: list[Settlement],
    ) -> list[Settlement]:
        """``settlements`` of a batch, of which the queue's hooks have been told."""
        if self._hooks is not None:
            for place, error in enumerate(raised):
                if error is not None:
                    settlements[place] = await self._hooks.tell(
                        deliveries[place], error, settlements[place]
                    )
        return settlements

    def decide_all(
        self, deliveries: Sequence[Delivery], raised: Sequence[BaseException | None]
    ) -> list[Settlement]:
        """:meth:`decide` for each. What one exception did to many of them is one line of the
        log."""
        settlements: list[Settlement] = []
        together: dict[tuple[int, str], list[int]] = {}
        for place, (delivery, error) in enumerate(zip(deliveries, raised, strict=True)):
            if error is None:
                settlements.append(HANDLED)
                continue
            settlement = settlement_of(self._rules, delivery, error, self._now())
            settlements.append(settlement)
            kind = settlement.to if isinstance(settlement, Republish) else type(settlement).__name__
            together.setdefault((id(error), kind), []).append(place)
        for places in together.values():
            first, error = places[0], raised[places[0]]
            assert error is not None
            self.failures.tell([deliveries[place] for place in places], error, settlements[first])
        return settlements

    async def settle(self, arrival: Arrival, raised: BaseException | None) -> bool:
        """Settle one delivery, whose handler raised ``raised`` (``None``: it returned). False, and
        counted, when the channel is gone."""
        settlement = self.decide(arrival.delivery, raised)
        if raised is not None and self._hooks is not None:
            settlement = await self._hooks.tell(arrival.delivery, raised, settlement)
        (carried,) = await self.republish([settlement])
        if isinstance(carried, Requeue):
            return await self.requeue([arrival]) == 1
        if isinstance(carried, DeadLetter):
            if is_told := await self.nack(arrival, requeue=False):
                self.stats.dead_lettered += 1
            return is_told
        if isinstance(carried, Ack):
            self.pause.reset()
        if is_told := await self.ack(arrival):
            self.count(carried)
        return is_told

    async def republish(self, settlements: Sequence[Settlement]) -> list[Settlement]:
        """Publish those that say so, together. What is not confirmed becomes a requeue."""
        chosen = [
            (index, settlement)
            for index, settlement in enumerate(settlements)
            if isinstance(settlement, Republish)
        ]
        carried = list(settlements)
        if not chosen:
            return carried
        try:
            outcomes = await self._publish_many([settlement.message for _, settlement in chosen])
        except MqkitError as error:
            for index, settlement in chosen:
                carried[index] = self._not_confirmed(settlement, str(error))
            return carried
        for (index, settlement), outcome in zip(chosen, outcomes, strict=True):
            if not outcome:
                carried[index] = self._not_confirmed(settlement, str(outcome))
        return carried

    async def publish(self, message: Message) -> Outcome:
        """Publish a message of the handler's own: an answer."""
        try:
            (outcome,) = await self._publish_many([message])
        except MqkitError as error:
            return Unknown(str(error), message.properties.message_id)
        return outcome

    def count(self, settlement: Settlement, number: int = 1) -> None:
        """Count deliveries that were acked for this settlement."""
        match settlement:
            case Ack():
                self.stats.acked += number
            case Discard():
                self.stats.dropped += number
            case Republish(to=Destination.TIER):
                self.stats.retried += number
            case Republish(to=Destination.PARKING_LOT):
                self.stats.parked += number

    async def requeue(self, arrivals: Sequence[Arrival]) -> int:
        """Pause once, then give them back to the queue. Returns how many went: the others' channels
        were gone."""
        if arrivals:
            await self.pause.wait()
        given_back = 0
        for arrival in arrivals:
            if await self.nack(arrival, requeue=True):
                given_back += 1
        self.stats.requeued += given_back
        return given_back

    async def give_back(self, arrival: Arrival) -> None:
        """Give back what no handler has seen."""
        if await self.nack(arrival, requeue=True):
            self.stats.returned += 1

    async def give_back_all(self, inbox: asyncio.Queue[Arrival | None]) -> None:
        """Give back what waits in ``inbox`` now, not waiting for a handler to be free."""
        while not inbox.empty():
            if (arrival := inbox.get_nowait()) is not None:
                await self.give_back(arrival)

    async def ack(self, arrival: Arrival, *, multiple: bool = False) -> bool:
        """False, and counted, when the channel is gone."""
        try:
            await arrival.channel.ack(arrival.delivery.delivery_tag, multiple=multiple)
        except StaleDelivery:
            self.stats.stale_acks += 1
            return False
        return True

    async def nack(self, arrival: Arrival, *, requeue: bool) -> bool:
        """False, and counted, when the channel is gone."""
        try:
            await arrival.channel.nack(arrival.delivery.delivery_tag, requeue=requeue)
        except StaleDelivery:
            self.stats.stale_acks += 1
            return False
        return True

    def _not_confirmed(self, settlement: Republish, why: str) -> Requeue:
        self.stats.unconfirmed_republishes += 1
        self.failures.not_confirmed(settlement, why)
        return Requeue(why)
