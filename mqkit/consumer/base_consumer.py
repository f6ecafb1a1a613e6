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
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer_states import State
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.slow_handlers import SlowHandlers, consumer_timeout_s, warn_of_timeout
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
        options: ConsumeOptions,
        workers: int,
        handler_timeout_s: float | None = None,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._settler = settler
        self._workers = workers
        self._handler_timeout_s = handler_timeout_s
        self._broker_timeout_s = consumer_timeout_s(settler.rules.arguments, options.arguments)
        self._at_hand: list[Arrival | None] = [None] * workers
        """The message that each worker is at, where it is at one."""
        self._slow = SlowHandlers(queue, self._at_hand, self._broker_timeout_s, clock)
        # Bounded by the prefetch: the broker sends no more than that unsettled.
        self._inbox: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._subscription = Subscription(
            queue, options, self._inbox.put_nowait, link, settler.stats, clock=clock
        )
        self._stopping = False
        self._done = anyio.Event()

    @abstractmethod
    async def _work(self, place: int) -> None:
        """Handle what the inbox gives, until it gives ``None``: each worker gets one, and says in
        its ``place`` of ``_at_hand`` what it is at. What comes while ``_stopping`` is to be given
        back."""

    async def run(self) -> None:
        """Keep subscribed and work, until stopped."""
        warn_of_timeout(self._queue, self._handler_timeout_s, self._broker_timeout_s)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._subscription.run)
                tasks.start_soon(self._slow.run)
                async with anyio.create_task_group() as workers:
                    for place in range(self._workers):
                        workers.start_soon(self._work, place)
                tasks.cancel_scope.cancel()
        finally:
            self._done.set()

    async def subscribe(self, connection: Connection) -> None:
        """The supervisor's hook; see :meth:`Subscription.subscribe`."""
        await self._subscription.subscribe(connection)

    def hold(self) -> None:
        """Not to consume until :meth:`resume`. Call it before :meth:`run`."""
        self._subscription.hold()

    async def pause(self) -> None:
        """Stop consuming, and give back what no handler has begun; handlers that run go on.
        Idempotent."""
        await self._subscription.pause()
        # A drain that begins meanwhile gives back the rest, and ends the inbox.
        while self._subscription.state is State.PAUSED and not self._inbox.empty():
            if (arrival := self._inbox.get_nowait()) is not None:
                await self._settler.give_back(arrival)

    async def resume(self) -> None:
        """Consume again. Idempotent."""
        await self._subscription.resume()

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
