"""The base of both consumers: an inbox filled by a subscription, workers that empty it, a shutdown.

The order of the end is the point: nothing new is taken, what is not begun is given back, and only
when the workers are done is the consumer stopped. Closing the channel is a step of its own, for
acks travel on it until then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio

from mqkit.consumer.breaker.breaker import Breaker
from mqkit.consumer.breaker.circuit import Circuit, probes_for
from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer_states import State
from mqkit.consumer.handler import WrapHandler
from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.consumer.observing.measure import Measure
from mqkit.consumer.observing.observer import ConsumerObserver
from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.rate.paced_inbox import PacedInbox
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.slow_handlers import SlowHandlers, consumer_timeout_s, warn_of_timeout
from mqkit.consumer.stats import Stats
from mqkit.consumer.subscription import Link, Subscription
from mqkit.publishing.message_ids import new_message_id
from mqkit.retry.signals import Unavailable
from mqkit.timing.app_clock import OF_CONSUMER, AppClock
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.transport.seam import Connection


class BaseConsumer(ABC):
    """Run :meth:`run` in a task; call :meth:`subscribe` after each connect."""

    keeps_unavailable = True
    """See :class:`Breakable`."""

    def __init__(
        self,
        queue: str,
        settler: Settler,
        link: Link,
        *,
        options: ConsumeOptions,
        workers: int,
        handler_timeout_s: float | None = None,
        clock: Clock | None,
    ) -> None:
        self._queue = queue
        self._settler = settler
        self._workers = workers
        self._handler_timeout_s = handler_timeout_s
        self._broker_timeout_s = consumer_timeout_s(settler.rules.arguments, options.arguments)
        self._at_hand: list[Arrival | None] = [None] * workers
        """The message that each worker is at, where it is at one."""
        self._workers_at: list[asyncio.Task[Any] | None] = [None] * workers
        waits_by = clock or settler.clock
        if isinstance(waits_by, AppClock):
            # The clock knows it by its tag.
            options = replace(options, tag=f"mqkit.{new_message_id()}")
        self._tag = options.tag
        self._slow = SlowHandlers(queue, self._at_hand, self._broker_timeout_s, waits_by)
        # Bounded by the prefetch: the broker sends no more than that unsettled.
        self._inbox: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._take: Callable[[Arrival], None] = self._inbox.put_nowait
        self._subscription = Subscription(
            queue, options, self._take, link, settler.stats, clock=clock or SYSTEM_CLOCK
        )
        self._prefetch = options.prefetch
        self._pace: Pace | None = None
        self._breaker = Breaker(
            queue,
            self,
            settler,
            Circuit(probes_for(options.prefetch)),
            hold_s=self._broker_timeout_s / 2,
            clock=waits_by,
        )
        self._is_paused = False
        self._is_halted = False
        """True while the breaker wants nothing consumed."""
        self._gives_back = False
        self._stopping = False
        self._done = anyio.Event()

    @abstractmethod
    async def _work(self, place: int) -> None:
        """Handle what the inbox gives, until it gives ``None``: each worker gets one, and says in
        its ``place`` of ``_at_hand`` what it is at. What comes while it ``_gives_back`` is to be
        given back, and a handler that says ``Unavailable`` is to trip the breaker."""

    @abstractmethod
    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        """Handle and settle one message: see :class:`Breakable`."""

    # -- seen from outside -------------------------------------------------------------------

    @property
    def queue(self) -> str:
        """The name that this program has for its queue."""
        return self._queue

    @property
    @abstractmethod
    def handler_name(self) -> str:
        """The name of the function that handles its messages."""

    @abstractmethod
    def measure(self, measure: Measure) -> None:
        """Have the handler measured. Call it before :meth:`run`, and after :meth:`surround`."""

    def observe(self, observer: ConsumerObserver) -> None:
        """Have ``observer`` told of each change. Call it before :meth:`run`."""
        self._subscription.observer = observer
        self._breaker.observer = observer

    def surround_attempts(self, around: AroundAttempts) -> None:
        """Have each attempt made within ``around``. Call it before :meth:`run`."""
        # In the place of the methods: where nothing is around them, nothing is asked.
        self.attempt = around.message(self.attempt)  # type: ignore[assignment]
        self._settler.failures = around.failures(self._settler.failures, of_batches=False)

    @property
    def stats(self) -> Stats:
        """Its counters."""
        return self._settler.stats

    @property
    def prefetch(self) -> int:
        """The messages that the broker sends it unsettled, at most."""
        return self._prefetch

    @property
    def state(self) -> State:
        """The state of its subscription."""
        return self._subscription.state

    @property
    def circuit_state(self) -> CircuitState:
        """The state of its circuit."""
        return self._breaker.state

    @property
    def patience_s(self) -> float:
        """The time in which it may well settle nothing: its handler's timeout, and the wait for a
        turn where there is a rate. Without a timeout nothing says how long a handler takes."""
        wait_s = 0.0 if self._pace is None else self._pace.rate.interval_s
        return (self._handler_timeout_s or 0.0) + wait_s

    # -- running -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep subscribed and work, until stopped."""
        warn_of_timeout(self._queue, self._handler_timeout_s, self._broker_timeout_s)
        if isinstance(self._settler.clock, AppClock):
            OF_CONSUMER.set(self._settler.clock)
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

    @property
    def tag(self) -> str:
        """See :class:`~mqkit.timing.app_clock.Working`."""
        return self._tag

    @property
    def at_work(self) -> list[tuple[object, str]]:
        """See :class:`~mqkit.timing.app_clock.Working`."""
        if self._subscription.state in (State.IDLE, State.SUBSCRIBING):
            return [(self, f"the consumer of {self._queue}, which the broker has not got yet")]
        if self._breaker.awaits_probe:
            return []
        at_work: list[tuple[object, str]] = [
            (task, f"a handler of {self._queue}, at message {arrival.delivery.message_id}")
            for task, arrival in zip(self._workers_at, self._at_hand, strict=True)
            if task is not None and not task.done() and arrival is not None
        ]
        if (probing := self._breaker.probing) is not None:
            at_work.append((probing, f"the circuit breaker of {self._queue}"))
        return at_work

    def limit(self, pace: Pace) -> None:
        """Begin messages at that pace. Call it before :meth:`run`."""
        self._pace = pace
        self._inbox = PacedInbox(pace)
        self._breaker.probe_from(PacedInbox(pace))
        self._take_by(self._inbox.put_nowait)

    def _take_by(self, take: Callable[[Arrival], None]) -> None:
        """Have ``take`` called for each message, on the event loop."""
        self._take = take
        self._subscription.deliver_to(take, self._prefetch)

    def surround(self, wrap: WrapHandler) -> None:  # noqa: B027 - others have nothing to do
        """Call what ``wrap`` makes of the handler, where that is one of single messages. Call it
        before :meth:`run`."""

    async def subscribe(self, connection: Connection) -> None:
        """The supervisor's hook; see :meth:`Subscription.subscribe`."""
        await self._subscription.subscribe(connection)

    @property
    def is_paused(self) -> bool:
        """True from :meth:`pause`, or :meth:`hold`, to :meth:`resume`."""
        return self._is_paused

    def hold(self) -> None:
        """Not to consume until :meth:`resume`. Call it before :meth:`run`."""
        self._is_paused = True
        self._subscription.hold()

    async def pause(self) -> None:
        """Stop consuming, and give back what no handler has begun; handlers that run go on.
        Idempotent."""
        self._is_paused = True
        await self._stop_consuming()

    async def resume(self) -> None:
        """Consume again. Idempotent."""
        self._is_paused = False
        if not self._is_halted:
            await self._subscription.resume()

    async def halt(self) -> None:
        """Stop consuming until :meth:`trickle` or :meth:`restore`: see :class:`Breakable`."""
        self._is_halted = self._gives_back = True
        await self._stop_consuming()

    async def trickle(self, probes: asyncio.Queue[Arrival | None]) -> None:
        """Consume one message at a time into ``probes``: see :class:`Breakable`."""
        await self._consume(probes.put_nowait, 1)

    async def restore(self) -> None:
        """Consume as before: see :class:`Breakable`."""
        self._gives_back = self._stopping
        await self._consume(self._take, self._prefetch)

    async def _consume(self, take: Callable[[Arrival], None], prefetch: int) -> None:
        self._subscription.deliver_to(take, prefetch)
        self._is_halted = False
        if not self._is_paused:
            await self._subscription.resume()

    async def _stop_consuming(self) -> None:
        await self._subscription.pause()
        # A drain that begins meanwhile gives back the rest, and ends the inbox.
        while self._subscription.state is State.PAUSED:
            if (arrival := self._next_unbegun()) is None:
                break
            await self._settler.give_back(arrival)

    def _next_unbegun(self) -> Arrival | None:
        """Take out one message that no handler has begun; ``None`` when there is none."""
        while not self._inbox.empty():
            if (arrival := self._inbox.get_nowait()) is not None:
                return arrival
        return None

    async def stop(self) -> None:
        """Take nothing new, give back what is not begun, return when the workers are done."""
        self._stopping = self._gives_back = True
        self._breaker.end()
        self._settler.pause.end()
        await self._subscription.cancel()
        while (arrival := self._next_unbegun()) is not None:
            await self._settler.give_back(arrival)
        await self._breaker.stop()
        for _ in range(self._workers):
            self._inbox.put_nowait(None)
        await self._done.wait()

    async def close(self) -> None:
        """Close the channel; unsettled deliveries go back to the queue."""
        await self._subscription.close()
