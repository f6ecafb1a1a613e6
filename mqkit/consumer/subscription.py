"""One consumer at the broker, kept alive: subscribed after each connect, and again when the broker
cancels it or closes its channel.

The supervisor's hook subscribes after a connect. What goes wrong between connects is repaired here,
after a backoff: the topology is declared again first, for a consumer is cancelled when its queue is
deleted. A queue that can't be consumed is final at the first start, where it is a mistake; later it
is tried again, and keeps no other consumer from working.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from mqkit.consumer.consume_options import ConsumeOptions, in_words
from mqkit.consumer.consumer_states import Event, State, after
from mqkit.consumer.observing.observer import ConsumerObserver
from mqkit.consumer.settlement_steps import Arrival
from mqkit.consumer.stats import Stats
from mqkit.errors import ChannelError, Closed, MqkitError, TransportError
from mqkit.message import Delivery
from mqkit.timing.backoff import Backoff
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.timing.token_bucket import TokenBucket
from mqkit.transport.seam import Channel, Connection

_LOG = logging.getLogger(__name__)

RESUBSCRIBE_FIRST_S = 0.2
RESUBSCRIBE_MAX_S = 15.0
"""A deleted queue that nobody declares again is asked for about this often."""


REPORTS_AT_FIRST = 3
REPORT_EVERY_S = 60.0
"""A queue that can't be consumed is told of at the first attempts, and then once a minute."""


class Link(Protocol):
    """The app, as far as a subscription needs it."""

    def consuming_connection(self) -> Connection:
        """Raises :exc:`~mqkit.errors.TransportError` while there is none."""
        ...

    async def declare(self, connection: Connection) -> None:
        """Declare the whole topology again."""
        ...

    def current_name(self, queue: str) -> str:
        """The name that the broker has for ``queue`` now.

        Raises :exc:`~mqkit.errors.ChannelError` for a queue of this program alone that the broker
        refused to declare or to bind.
        """
        ...

    async def open_connection(self, role: str) -> Connection:
        """One more connection to the broker, for a consumer that keeps and closes it itself. Raises
        as :meth:`consuming_connection`, and as connecting does."""
        ...


class Subscription:
    """Calls ``on_arrival`` for each delivery, on the event loop."""

    def __init__(
        self,
        queue: str,
        options: ConsumeOptions,
        on_arrival: Callable[[Arrival], None],
        link: Link,
        stats: Stats,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._queue = queue
        self._options = options
        self._on_arrival = on_arrival
        self._link = link
        self._stats = stats
        self._clock = clock
        self._backoff = Backoff(RESUBSCRIBE_FIRST_S, RESUBSCRIBE_MAX_S)
        self._state = State.IDLE
        self._channel: Channel | None = None
        self._prefetch = options.prefetch
        self._qos: tuple[Channel, int] | None = None
        """The prefetch that was asked for, and on which channel."""
        self._tag = ""
        self._reports = TokenBucket(REPORTS_AT_FIRST, REPORT_EVERY_S, clock)
        self._is_reported = False
        self._is_final = True
        """True until the queue was consumed once: one that can't be is a mistake till then."""
        self._lock = asyncio.Lock()
        self._lost = asyncio.Event()
        self.observer: ConsumerObserver | None = None

    @property
    def state(self) -> State:
        return self._state

    async def subscribe(self, connection: Connection) -> None:
        """Start consuming on ``connection``, unless it does already: the supervisor's hook.

        Raises :exc:`~mqkit.errors.ChannelError` if the broker would not, at the first start only.
        """
        async with self._lock:
            try:
                await self._subscribe(connection)
            except ChannelError as error:
                if self._is_final:
                    raise
                self._report(error)

    async def run(self) -> None:
        """Repair what breaks between connects, until cancelled."""
        while True:
            await self._lost.wait()
            self._lost.clear()
            await self._clock.sleep(self._backoff.next_s())
            async with self._lock:
                if self._state is State.IDLE:
                    await self._repair()

    def hold(self) -> None:
        """Not to consume until :meth:`resume`, from the first connect on."""
        self._fire(Event.PAUSE)

    async def pause(self) -> None:
        """Take nothing new until :meth:`resume`, through all reconnects. Deliveries that were made
        can still be settled. Returns when the broker sends no more; idempotent."""
        async with self._lock:
            was_consuming = self._state is State.CONSUMING
            self._fire(Event.PAUSE)
            if was_consuming:
                await self._cancel_consumer()

    async def resume(self) -> None:
        """Consume again: at once if there is a connection, else after the next connect. A queue
        that can't be consumed is reported and tried again. Idempotent."""
        async with self._lock:
            if self._state is State.PAUSED:
                self._fire(Event.RESUME)
                self._is_final = False
                await self._repair()

    def deliver_to(self, on_arrival: Callable[[Arrival], None], prefetch: int) -> None:
        """Call ``on_arrival`` from now on; take up to ``prefetch`` messages unsettled from when it
        consumes next."""
        self._on_arrival = on_arrival
        self._prefetch = prefetch

    async def cancel(self) -> None:
        """Take nothing new. Deliveries that were made can still be settled. Idempotent."""
        self._fire(Event.DRAIN)
        await self._cancel_consumer()

    async def _cancel_consumer(self) -> None:
        if self._channel is None or not self._tag:
            return
        try:
            await self._channel.cancel(self._tag)
        except MqkitError as error:
            _LOG.info("the consumer of %s went by itself: %s", self._queue, error)
        finally:
            self._tag = ""

    async def close(self) -> None:
        """Close the channel; what was not settled goes back to the queue. Idempotent.

        The broker answers a close after it has read all that was sent before it, acks included.
        """
        self._fire(Event.STOP)
        if self._channel is not None:
            await self._channel.close()

    async def _repair(self) -> None:
        try:
            connection = self._link.consuming_connection()
            await self._link.declare(connection)
            await self._subscribe(connection)
        except (TransportError, Closed):
            return  # the supervisor connects again, and its hook subscribes
        except MqkitError as error:
            self._report(error)

    async def _subscribe(self, connection: Connection) -> None:
        if self._state is not State.IDLE:
            return
        self._fire(Event.SUBSCRIBE)
        try:
            channel = await self._open(connection)
            # The tag is known before the broker answers: a drain may come in between.
            self._tag = await channel.consume(
                self._link.current_name(self._queue),
                partial(self._delivered, channel),
                on_cancel=partial(self._cancelled, channel),
                no_ack=self._options.no_ack,
                exclusive=self._options.exclusive,
                consumer_tag=self._options.tag,
                arguments=self._options.arguments,
            )
        except ChannelError as error:
            self._fire(Event.LOST, f"{error.reply_code} {error.reply_text}")
            raise in_words(error, self._queue, exclusive=self._options.exclusive) from None
        except BaseException as error:
            self._fire(Event.LOST, str(error))
            raise
        if self.state is State.DRAINING:
            await channel.cancel(self._tag)
        elif self.state is State.SUBSCRIBING:
            self._fire(Event.SUBSCRIBED)
            self._is_final = False
            self._backoff.reset()
            if self._is_reported:
                self._is_reported = False
                _LOG.warning("%s is consumed again", self._queue)

    async def _open(self, connection: Connection) -> Channel:
        """The channel that there is, if it still is: deliveries may wait to be settled on it."""
        channel = self._channel
        if channel is None or not channel.is_open:
            channel = await connection.channel()
            self._channel = channel
            channel.on_closed(partial(self._channel_closed, channel))
        if self._qos != (channel, self._prefetch):
            await channel.qos(self._prefetch)
            self._qos = channel, self._prefetch
        return channel

    def _delivered(self, channel: Channel, delivery: Delivery) -> None:
        self._stats.delivered += 1
        self._on_arrival(Arrival(channel, delivery))

    def _cancelled(self, channel: Channel, tag: str) -> None:
        if channel is self._channel:
            self._stats.cancelled_by_broker += 1
            _LOG.warning("the broker cancelled the consumer %s of %s", tag, self._queue)
            self._lose("the broker cancelled it")

    def _channel_closed(self, channel: Channel, error: MqkitError | None) -> None:
        if channel is self._channel:
            if error is not None:
                _LOG.info("the channel consuming %s is gone: %s", self._queue, error)
            self._lose("" if error is None else str(error))

    def _lose(self, why: str) -> None:
        if self._state is State.CONSUMING or self._state is State.SUBSCRIBING:
            self._fire(Event.LOST, why)
            self._lost.set()

    def _report(self, error: MqkitError) -> None:
        if self._reports.take():
            self._is_reported = True
            _LOG.warning("%s can't be consumed, it is tried again: %s", self._queue, error)
        self._lost.set()

    def _fire(self, event: Event, why: str = "") -> None:
        before, self._state = self._state, after(self._state, event)
        if self._state is not before and self.observer is not None:
            self.observer.state_changed(before, self._state, why)
