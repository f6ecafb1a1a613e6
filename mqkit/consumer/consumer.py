"""Consuming one queue, a message at a time: deliveries in, handlers called, each one settled.

The shell around the parts: :mod:`~mqkit.consumer.base_consumer` keeps it subscribed and ends it in
order, :mod:`~mqkit.consumer.handler` calls the handler, :mod:`~mqkit.consumer.settlement` decides
what becomes of the message, :mod:`~mqkit.consumer.settlement_steps` carries that out."""

from __future__ import annotations

import asyncio

from mqkit.consumer.answerer import Answerer
from mqkit.consumer.base_consumer import BaseConsumer
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.handler import AnyHandler, HandlerTimeout, WrapHandler
from mqkit.consumer.observing.measure import Measure
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, count_attempts_by
from mqkit.retry.signals import Unavailable
from mqkit.timing.clock import Clock


class Consumer(BaseConsumer):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect.

    At most ``concurrency`` handlers run at once; with one they run in the order of delivery.
    """

    def __init__(
        self,
        queue: str,
        handler: AnyHandler,
        settler: Settler,
        link: Link,
        *,
        options: ConsumeOptions,
        concurrency: int,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            queue,
            settler,
            link,
            options=options,
            workers=concurrency,
            handler_timeout_s=handler.timeout_s,
            clock=clock,
        )
        self._use(handler)

    def _use(self, handler: AnyHandler) -> None:
        self._handler = handler
        # Only who sees the delivery can ask it for its attempt.
        self._arguments = self._ruled_arguments if handler.takes_delivery else handler.arguments
        self._answerer = Answerer(handler, self._arguments, self._settler)

    def surround(self, wrap: WrapHandler) -> None:
        self._use(wrap(self._handler))

    def measure(self, measure: Measure) -> None:
        self._use(measure.handler(self._handler))

    @property
    def handler_name(self) -> str:
        return self._handler.name

    async def _work(self, place: int) -> None:
        self._workers_at[place] = asyncio.current_task()
        while (arrival := await self._inbox.get()) is not None:
            if not arrival.channel.is_open:
                self._settler.stats.stale_deliveries += 1
            elif self._gives_back:
                await self._settler.give_back(arrival)
            else:
                self._at_hand[place] = arrival
                said = await self.attempt(arrival)
                self._at_hand[place] = None
                if said is not None:
                    await self._breaker.trip(arrival, said)

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        raised = await self._outcome(arrival.delivery)
        if raised is not None and isinstance(raised, Unavailable):
            return raised
        await self._settler.settle(arrival, raised)
        return None

    async def _outcome(self, delivery: Delivery) -> Exception | None:
        """Run the handler; return what counts as raised, or ``None``."""
        if delivery.properties.reply_to is not None:
            return await self._answerer.outcome(delivery)
        stats = self._settler.stats
        try:
            await self._handler(*self._arguments(delivery))
        except BodyMisfit as error:
            stats.misfits += 1
            return error
        except HandlerTimeout as error:
            stats.timeouts += 1
            return error
        except Exception as error:  # noqa: BLE001 - handlers and validators are other people's code
            return error
        return None

    def _ruled_arguments(self, delivery: Delivery) -> tuple[object, ...]:
        count_attempts_by(self._settler.rules, delivery)
        return self._handler.arguments(delivery)
