"""Consuming one queue in batches: an outcome for each message, one multiple ack for the finished
prefix.

Where one batch is handled at a time, everything before it is settled when its turn comes, and a
multiple ack covers this batch and nothing else. Where several are, each message is acked by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mqkit.consumer.base_consumer import BaseConsumer
from mqkit.consumer.batches.batch import Batch
from mqkit.consumer.batches.batch_decisions import Verb, Window, plan_settling
from mqkit.consumer.batches.batch_handler import AnyBatchHandler
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.handler import HandlerTimeout
from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.consumer.observing.measure import Measure
from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.settlement import Ack, DeadLetter, Requeue
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, count_attempts_by
from mqkit.retry.signals import Unavailable
from mqkit.timing.clock import Clock


class BatchConsumer(BaseConsumer):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect."""

    def __init__(
        self,
        queue: str,
        handler: AnyBatchHandler,
        settler: Settler,
        link: Link,
        *,
        window: Window,
        options: ConsumeOptions,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            queue,
            settler,
            link,
            options=options,
            workers=window.concurrency,
            handler_timeout_s=handler.timeout_s,
            clock=clock,
        )
        self._handler = handler
        self._window = window
        self._clock = clock or settler.clock
        self._ended = asyncio.Event()

    @property
    def handler_name(self) -> str:
        return self._handler.name

    def measure(self, measure: Measure) -> None:
        self._handler = measure.batch_handler(self._handler)

    def surround_attempts(self, around: AroundAttempts) -> None:
        # A probe is a batch, too, of one message.
        self._handle = around.batch(self._handle)  # type: ignore[assignment]
        self._settler.failures = around.failures(self._settler.failures, of_batches=True)

    @property
    def patience_s(self) -> float:
        return super().patience_s + self._window.within_s

    async def _work(self, place: int) -> None:
        held: Arrival | None = None
        more = True
        self._workers_at[place] = asyncio.current_task()
        while more:
            arrivals, held, more = await self._collect(held)
            if self._pace is not None and arrivals:
                await self._pace.turn(self._ended)
            live = [arrival for arrival in arrivals if arrival.channel.is_open]
            self._settler.stats.stale_deliveries += len(arrivals) - len(live)
            if self._gives_back:
                for arrival in live:
                    await self._settler.give_back(arrival)
            elif live:
                self._at_hand[place] = live[0]
                said = await self._handle(live)
                self._at_hand[place] = None
                if said is not None:
                    # None but the probe may be unsettled: a probe is acked with all before it.
                    rest, held = [*live[1:], held], None
                    for other in rest:
                        if other is not None:
                            await self._settler.give_back(other)
                    await self._breaker.trip(live[0], said)

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        return await self._handle([arrival])

    def limit(self, pace: Pace) -> None:
        """Batches begin at that pace, each as one."""
        self._pace = pace

    async def stop(self) -> None:
        self._ended.set()
        await super().stop()

    async def _collect(self, held: Arrival | None) -> tuple[list[Arrival], Arrival | None, bool]:
        """Collect one batch, which begins with ``held`` if there is one. Gives the message that did
        not fit into it, to begin the next; and false when no other batch will come."""
        first = held or await self._inbox.get()
        if first is None:
            return [], None, False
        arrivals, room = [first], self._window.bytes_max - len(first.delivery.body)
        first_at_s = self._clock.monotonic_s()
        while True:
            # What is there is taken without a timer, which costs more than all else here.
            while len(arrivals) < self._window.size and not self._inbox.empty():
                arrival = self._inbox.get_nowait()
                if arrival is None:
                    return arrivals, None, False
                room -= len(arrival.delivery.body)
                if room < 0:
                    return arrivals, arrival, True
                arrivals.append(arrival)
            wait_s = self._window.remaining_s(len(arrivals), first_at_s, self._clock.monotonic_s())
            if not wait_s:
                return arrivals, None, True
            try:
                async with self._clock.timeout(wait_s):
                    arrival = await self._inbox.get()
            except TimeoutError:
                return arrivals, None, True
            if arrival is None:
                return arrivals, None, False
            room -= len(arrival.delivery.body)
            if room < 0:
                return arrivals, arrival, True
            arrivals.append(arrival)

    async def _handle(self, arrivals: Sequence[Arrival]) -> Unavailable | None:
        """Decode, call the handler, and settle each message; or none, where the handler said
        ``Unavailable``, which is returned."""
        raised: list[Exception | None] = [None] * len(arrivals)
        items: dict[int, Any] = {}
        for index, arrival in enumerate(arrivals):
            try:
                items[index] = self._handler.decode(arrival.delivery)
            except BodyMisfit as error:
                self._settler.stats.misfits += 1
                raised[index] = error
            except Exception as error:  # noqa: BLE001 - a validator is other people's code
                raised[index] = error
        if items:
            batch = self._batch(list(items.values()), [arrivals[index].delivery for index in items])
            try:
                of_each = await self._raised(batch)
            except Unavailable as said:
                return said
            for index, failure in zip(items, of_each, strict=True):
                raised[index] = failure
        await self._settle(arrivals, raised)
        return None

    def _batch(self, items: list[Any], deliveries: list[Delivery]) -> Batch[Any]:
        rules = self._settler.rules
        if self._handler.takes_deliveries:  # where not, those who ask for them wait for this
            for delivery in deliveries:
                count_attempts_by(rules, delivery)
        return Batch(items, deliveries, rules)

    async def _raised(self, batch: Batch[Any]) -> Sequence[Exception | None]:
        """The exception that counts as raised for each item; the handler's own is for all. Raises
        ``Unavailable`` if the handler does."""
        try:
            await self._handler(batch)
        except Unavailable:
            raise
        except HandlerTimeout as error:
            self._settler.stats.timeouts += 1
            return [error] * len(batch)
        except Exception as error:  # noqa: BLE001 - a handler is other people's code
            return [error] * len(batch)
        return batch.raised

    async def _settle(
        self, arrivals: Sequence[Arrival], raised: Sequence[Exception | None]
    ) -> None:
        settler = self._settler
        deliveries = [arrival.delivery for arrival in arrivals]
        decided = settler.decide_all(deliveries, raised)
        settlements = await settler.republish(await settler.told_of(deliveries, raised, decided))
        if any(isinstance(settlement, Ack) for settlement in settlements):
            settler.pause.reset()
        finished = [not isinstance(each, (Requeue, DeadLetter)) for each in settlements]
        back: list[Arrival] = []
        for step in plan_settling(finished, alone=self._window.concurrency == 1):
            arrival = arrivals[step.index]
            if step.verb is Verb.NACK:
                if isinstance(settlements[step.index], Requeue):
                    back.append(arrival)
                elif await settler.nack(arrival, requeue=False):
                    settler.stats.dead_lettered += 1
            elif await settler.ack(arrival, multiple=step.verb is Verb.ACK_MULTIPLE):
                first = step.index - step.covers + 1
                for settlement, run in groupby(settlements[first : step.index + 1]):
                    settler.count(settlement, sum(1 for _ in run))
            else:
                settler.stats.stale_acks += step.covers - 1
        await settler.requeue(back)
