"""The base of both consumers: an inbox filled by a subscription, workers that empty it, a shutdown.

The order of the end is the point: nothing new is taken, what is not begun is given back, and only
when the workers are done is the consumer stopped. Closing the channel is a step of its own, for
acks travel on it until then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import anyio

from mqkit.clock import Clock
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import Link, Subscription
from mqkit.transport.seam import Connection


class BaseConsumer(ABC):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect."""

    def __init__(
        self,
        queue: str,
        settler: Settler,
        link: Link,
        *,
        prefetch: int,
        workers: int,
        clock: Clock,
    ) -> None:
        self._settler = settler
        self._workers = workers
        # Bounded by the prefetch: the broker sends no more than that unsettled.
        self._inbox: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._subscription = Subscription(
            queue, prefetch, self._inbox.put_nowait, link, settler.stats, clock=clock
        )
        self._stopping = False
        self._done = anyio.Event()

    @abstractmethod
    async def _work(self) -> None:
        """Handle what the inbox gives, until it gives ``None``: each worker gets one. What it gives
        while ``_stopping`` is to be given back."""

    async def run(self) -> None:
        """Keep subscribed and work, until stopped."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._subscription.run)
                async with anyio.create_task_group() as workers:
                    for _ in range(self._workers):
                        workers.start_soon(self._work)
                tasks.cancel_scope.cancel()
        finally:
            self._done.set()

    async def subscribe(self, connection: Connection) -> None:
        """The supervisor's hook; see :meth:`Subscription.subscribe`."""
        await self._subscription.subscribe(connection)

    async def stop(self) -> None:
        """Take nothing new, give back what is not begun, return when the workers are done."""
        self._stopping = True
        self._settler.pause.end()
        await self._subscription.cancel()
        await self._settler.give_back_all(self._inbox)
        for _ in range(self._workers):
            self._inbox.put_nowait(None)
        await self._done.wait()

    async def close(self) -> None:
        """Close the channel; unsettled deliveries go back to the queue."""
        await self._subscription.close()
