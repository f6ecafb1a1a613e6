"""Consuming one queue, a message at a time: deliveries in, handlers called, each one settled.

The shell around the parts: :mod:`~mqkit.consumer.base_consumer` keeps it subscribed and ends it in
order, :mod:`~mqkit.consumer.handler` calls the handler, :mod:`~mqkit.consumer.settlement` decides
what becomes of the message, :mod:`~mqkit.consumer.settlement_steps` carries that out."""

from __future__ import annotations

from mqkit.clock import SYSTEM_CLOCK, Clock
from mqkit.consumer.answerer import Answerer
from mqkit.consumer.base_consumer import BaseConsumer
from mqkit.consumer.handler import HandlerTimeout, MessageHandler
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link
from mqkit.incoming import BodyMisfit


class Consumer(BaseConsumer):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect.

    At most ``concurrency`` handlers run at once; with one they run in the order of delivery.
    """

    def __init__(
        self,
        queue: str,
        handler: MessageHandler,
        settler: Settler,
        link: Link,
        *,
        prefetch: int,
        concurrency: int,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        super().__init__(queue, settler, link, prefetch=prefetch, workers=concurrency, clock=clock)
        self._handler = handler
        self._answerer = Answerer(handler, settler)

    async def _work(self) -> None:
        while (arrival := await self._inbox.get()) is not None:
            if not arrival.channel.is_open:
                self._settler.stats.stale_deliveries += 1
            elif self._stopping:
                await self._settler.give_back(arrival)
            elif arrival.delivery.properties.reply_to is not None:
                await self._answerer.handle(arrival)
            else:
                await self._settler.settle(arrival, await self._outcome(arrival))

    async def _outcome(self, arrival: Arrival) -> Exception | None:
        """Run the handler; return the exception that it raised, or ``None``."""
        stats = self._settler.stats
        try:
            await self._handler(*self._handler.arguments(arrival.delivery))
        except BodyMisfit as error:
            stats.misfits += 1
            return error
        except HandlerTimeout as error:
            stats.timeouts += 1
            return error
        except Exception as error:  # noqa: BLE001 - handlers and validators are other people's code
            return error
        return None
