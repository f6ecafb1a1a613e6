"""Consuming one queue in batches: an outcome for each message, one multiple ack for the finished
prefix.

One batch is handled at a time, so everything before it is settled when its turn comes, and a
multiple ack covers this batch and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mqkit.clock import SYSTEM_CLOCK, Clock
from mqkit.consumer.base_consumer import BaseConsumer
from mqkit.consumer.batch import Batch
from mqkit.consumer.batch_decisions import Verb, Window, plan_settling
from mqkit.consumer.batch_handler import BatchHandler
from mqkit.consumer.handler import HandlerTimeout
from mqkit.consumer.settlement import Ack, DeadLetter, Requeue
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link
from mqkit.incoming import BodyMisfit


class BatchConsumer(BaseConsumer):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect."""

    def __init__(
        self,
        queue: str,
        handler: BatchHandler,
        settler: Settler,
        link: Link,
        *,
        window: Window,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        # The next batch arrives while one is handled.
        super().__init__(queue, settler, link, prefetch=2 * window.size, workers=1, clock=clock)
        self._handler = handler
        self._window = window
        self._clock = clock

    async def _work(self) -> None:
        more = True
        while more:
            arrivals, more = await self._collect()
            live = [arrival for arrival in arrivals if arrival.channel.is_open]
            self._settler.stats.stale_deliveries += len(arrivals) - len(live)
            if self._stopping:
                for arrival in live:
                    await self._settler.give_back(arrival)
            elif live:
                await self._handle(live)

    async def _collect(self) -> tuple[list[Arrival], bool]:
        """Collect one batch; false in the second place when no other will come."""
        first = await self._inbox.get()
        if first is None:
            return [], False
        arrivals = [first]
        first_at_s = self._clock.monotonic_s()
        while True:
            # What is there is taken without a timer, which costs more than all else here.
            while len(arrivals) < self._window.size and not self._inbox.empty():
                arrival = self._inbox.get_nowait()
                if arrival is None:
                    return arrivals, False
                arrivals.append(arrival)
            wait_s = self._window.remaining_s(len(arrivals), first_at_s, self._clock.monotonic_s())
            if not wait_s:
                return arrivals, True
            try:
                async with self._clock.timeout(wait_s):
                    arrival = await self._inbox.get()
            except TimeoutError:
                return arrivals, True
            if arrival is None:
                return arrivals, False
            arrivals.append(arrival)

    async def _handle(self, arrivals: Sequence[Arrival]) -> None:
        """Decode, call the handler, and settle each message."""
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
            batch = Batch(list(items.values()), [arrivals[index].delivery for index in items])
            signals = await self._signals(batch)
            for index, signal in zip(items, signals, strict=True):
                raised[index] = signal
        await self._settle(arrivals, raised)

    async def _signals(self, batch: Batch[Any]) -> Sequence[Exception | None]:
        """A signal for each item; an exception of the handler's own stands for all of them."""
        try:
            await self._handler(batch)
        except HandlerTimeout as error:
            self._settler.stats.timeouts += 1
            return [error] * len(batch)
        except Exception as error:  # noqa: BLE001 - a handler is other people's code
            return [error] * len(batch)
        return batch.signals

    async def _settle(
        self, arrivals: Sequence[Arrival], raised: Sequence[Exception | None]
    ) -> None:
        settler = self._settler
        deliveries = [arrival.delivery for arrival in arrivals]
        settlements = await settler.republish(settler.decide_all(deliveries, raised))
        if any(isinstance(settlement, Ack) for settlement in settlements):
            settler.pause.reset()
        finished = [not isinstance(each, (Requeue, DeadLetter)) for each in settlements]
        back: list[Arrival] = []
        for step in plan_settling(finished):
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
