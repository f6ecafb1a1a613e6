"""Consuming one queue, a message at a time: deliveries in, handlers called, each one settled.

The shell around the parts: :mod:`~mqkit.consumer.subscription` keeps it subscribed,
:mod:`~mqkit.consumer.handler` calls the handler, :mod:`~mqkit.consumer.settlement` decides what
becomes of the message, :mod:`~mqkit.consumer.settler` carries that out.
"""

from __future__ import annotations

import asyncio

import anyio

from mqkit.clock import SYSTEM_CLOCK, Clock
from mqkit.consumer.handler import BodyMisfit, HandlerTimeout, MessageHandler
from mqkit.consumer.settler import Arrival, Settler
from mqkit.consumer.subscription import Link, Subscription
from mqkit.transport.seam import Connection


class Consumer:
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
        self._handler = handler
        self._settler = settler
        self._concurrency = concurrency
        # Bounded by the prefetch: the broker sends no more than that unsettled.
        self._inbox: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._subscription = Subscription(
            queue, prefetch, self._inbox.put_nowait, link, settler.stats, clock=clock
        )
        self._stopping = False
        self._done = anyio.Event()

    async def run(self) -> None:
        """Handle what arrives, until stopped."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._subscription.run)
                async with anyio.create_task_group() as workers:
                    for _ in range(self._concurrency):
                        workers.start_soon(self._work)
                tasks.cancel_scope.cancel()
        finally:
            self._done.set()

    async def subscribe(self, connection: Connection) -> None:
        """The supervisor's hook; see :meth:`Subscription.subscribe`."""
        await self._subscription.subscribe(connection)

    async def stop(self) -> None:
        """Take nothing new, give back what is not begun, return when the handlers are done."""
        self._stopping = True
        self._settler.pause.end()
        await self._subscription.cancel()
        await self._settler.give_back_all(self._inbox)
        for _ in range(self._concurrency):
            self._inbox.put_nowait(None)
        await self._done.wait()

    async def close(self) -> None:
        """Close the channel; unsettled deliveries go back to the queue."""
        await self._subscription.close()

    async def _work(self) -> None:
        while (arrival := await self._inbox.get()) is not None:
            if not arrival.channel.is_open:
                self._settler.stats.stale_deliveries += 1
            elif self._stopping:
                await self._settler.give_back(arrival)
            else:
                await self._settler.settle(arrival, await self._outcome(arrival))

    async def _outcome(self, arrival: Arrival) -> Exception | None:
        """What the handler raised, or ``None``."""
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
