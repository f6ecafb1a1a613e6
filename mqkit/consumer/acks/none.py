"""Consuming without acks (AMQP's ``no_ack``): a message is settled when the broker has sent it.

The prefetch, which bounds unsettled messages, bounds nothing then, and the broker sends as fast as
the socket takes it. So the consumer has a connection of its own, and does not read it while so many
octets wait for handlers. What has arrived can't be given back: at the end, and at a pause, it is
handled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import anyio

from mqkit.consumer.acks.own_connection import OwnConnection
from mqkit.consumer.answerer import AnsweredWithError, LateQuestion
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.handler import AnyHandler
from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.settlement import HANDLED
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.subscription import RESUBSCRIBE_FIRST_S, RESUBSCRIBE_MAX_S, Link
from mqkit.errors import MqkitError
from mqkit.retry.signals import Unavailable
from mqkit.timing.backoff import Backoff
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.transport.seam import Connection

WAITING_OCTETS_MAX = 16 * 1024 * 1024
"""Bodies that wait for handlers; one of the largest messages, and of small ones seconds' worth. One
read of the socket more may come."""
WAITING_OCTETS_LOW = WAITING_OCTETS_MAX // 2
"""Reading goes on when no more wait: not at each message."""
WEIGHT_MIN = 1024
"""The least that a message counts: one without a body takes memory, too."""


class UnackedConsumer(Consumer):
    """A consumer whose messages are never settled."""

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
        self._own = OwnConnection(link, f"consuming {queue} without acks")
        super().__init__(
            queue,
            handler,
            settler,
            self._own,
            options=replace(options, no_ack=True),
            concurrency=concurrency,
            clock=clock,
        )
        self._handler_timeout_s = None  # no ack is waited for
        self._reconnect_clock = clock or SYSTEM_CLOCK
        self._backoff = Backoff(RESUBSCRIBE_FIRST_S, RESUBSCRIBE_MAX_S)
        self._waiting = 0
        self._is_held_up = False
        self._takes_all = False
        """True while an answer is awaited that comes behind all that was sent."""
        self._take_by(self._arrived)

    def limit(self, pace: Pace) -> None:
        super().limit(pace)
        self._take_by(self._arrived)

    @property
    def prefetch(self) -> int:
        return 0  # nothing is unsettled, so a prefetch bounds nothing

    @property
    def patience_s(self) -> float:
        return self._handler.timeout_s or 0.0

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_connected)
            await super().run()
            tasks.cancel_scope.cancel()

    async def subscribe(self, connection: Connection) -> None:
        """The supervisor's hook: opens the consumer's own connection, if there is none."""
        await super().subscribe(await self._own.connect())

    async def stop(self) -> None:
        """Take nothing new, and return when all that has arrived is handled."""
        self._stopping = True
        with self._taking_all():
            await self._subscription.cancel()
        for _ in range(self._workers):
            self._inbox.put_nowait(None)
        await self._done.wait()

    async def close(self) -> None:
        """Close the connection."""
        await super().close()
        await self._own.close()

    async def _stop_consuming(self) -> None:
        with self._taking_all():
            await self._subscription.pause()

    async def _keep_connected(self) -> None:
        """Connect again when this connection is lost, and not the client's."""
        while True:
            await self._own.lost.wait()
            self._own.lost.clear()
            await self._reconnect_clock.sleep(self._backoff.next_s())
            try:
                connection = await self._own.connect()
            except MqkitError:
                self._own.lost.set()
                continue
            await self._subscription.subscribe(connection)
            self._backoff.reset()

    def _arrived(self, arrival: Arrival) -> None:
        self._inbox.put_nowait(arrival)
        self._waiting += max(WEIGHT_MIN, len(arrival.delivery.body))
        if self._waiting > WAITING_OCTETS_MAX and not (self._is_held_up or self._takes_all):
            self._is_held_up = True
            self._own.pause_reading()

    async def _work(self, place: int) -> None:
        settler = self._settler
        while (arrival := await self._inbox.get()) is not None:
            delivery = arrival.delivery
            self._waiting -= max(WEIGHT_MIN, len(delivery.body))
            if self._is_held_up and self._waiting <= WAITING_OCTETS_LOW:
                self._read_on()
            settler.count(HANDLED)
            await self.attempt(arrival)

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        raised = await self._outcome(arrival.delivery)
        if raised is not None and not isinstance(raised, (LateQuestion, AnsweredWithError)):
            self._settler.failed_too_late(arrival.delivery, raised)
        return None

    def _read_on(self) -> None:
        self._is_held_up = False
        self._own.resume_reading()

    @contextmanager
    def _taking_all(self) -> Iterator[None]:
        """Read whatever comes, until the broker has answered."""
        self._takes_all = True
        self._read_on()
        try:
            yield
        finally:
            self._takes_all = False
