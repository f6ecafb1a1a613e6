"""The connected half of an app: what exists while it is entered, and the order of its end.

    supervisor  connects, and calls the hooks: topology, then consumers
    publisher   over the pool of confirm channels, on the publishing connection
    consumers   on the consuming connection; what they republish goes through the publisher

At the end: connect no more, drain consumers and publisher, then close channels and connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from mqkit.app_arguments import check_vhost
from mqkit.consumer import Pause, QueueRules, Settler, Stats, drain
from mqkit.consumer.depth import QueueDepth, depth_of
from mqkit.consumer.handler import HandlerExit
from mqkit.consumer.queue_handle import AnyConsumer, MakeConsumer, QueueHandle
from mqkit.consumer.republish import Republisher
from mqkit.consumer.settlement import warn_of_unknown_errors
from mqkit.drift import Drift
from mqkit.drift.setup import drift_watch
from mqkit.errors import ChannelError, Closed, MqkitError
from mqkit.message import Message
from mqkit.middleware import Middleware
from mqkit.observation.observation import Observation
from mqkit.pool import ChannelPool, Publisher
from mqkit.program_hook import ProgramHooks
from mqkit.resources import AppResources
from mqkit.rpc.caller import Caller
from mqkit.supervision.refusal_log import RefusalLog
from mqkit.supervision.states import State
from mqkit.supervision.supervisor import Supervisor
from mqkit.timing.app_clock import AppClock
from mqkit.topology import Topology, TopologyCache, compile_topology
from mqkit.topology.retrying.known_lots import parking_in
from mqkit.topology.temporary import Temporary
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

if TYPE_CHECKING:
    from mqkit.settings import Settings

_LOG = logging.getLogger(__name__)


class Client:
    """Use it as ``async with client.running(timeout)``, once. Belongs to one event loop."""

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        topology: Topology | None,
        queues: Iterable[QueueHandle],
        observation: Observation,
        middleware: Middleware | None = None,
        resources: AppResources | None = None,
        drift_hooks: ProgramHooks[Drift] | None = None,
        clock: AppClock | None = None,
    ) -> None:
        self._observation = observation
        self._clock = clock
        self._topology = topology
        self._cache = TopologyCache()
        if topology is not None:
            check_vhost(topology, settings)
            self._cache.add(compile_topology(topology))
        self._refusals = RefusalLog()
        self._supervisor = Supervisor(
            transport,
            settings.endpoints,
            settings,
            on_declare=partial(self.declare, is_connect=True),
            on_consume=self._subscribe,
            on_ready=self._watch_drift,
        )
        self._supervisor.observe(observation.changed)
        self._drift_hooks = drift_hooks or ProgramHooks("on_drift")
        self._drift = drift_watch(
            settings, self._cache, self._open_channel, self._drift_hooks, observation.meters.app
        )
        self._pool = _pool(self._supervisor, settings)
        self._publisher = _publisher(self._pool, self._supervisor, settings)
        self._resources = resources or AppResources()
        self._middleware = middleware or Middleware()
        self._wrap = self._middleware.around_handler
        self._caller = Caller(
            self._supervisor.open_publishing_channel,
            self._supervisor.describe,
            max_message_bytes=settings.max_message_bytes,
        )
        self._deadline_s = settings.publish_deadline_s
        self.backlog = self._publisher.backlog
        # Not methods that call the publisher's: on the way of a lone message each call counts.
        measured = observation.meters.around_publisher(self._publisher)
        publisher = self._middleware.around_publisher(measured, self._broker)
        self._call = self._middleware.around_call(self._caller.call, self._broker)
        self.publish, self.publish_many = publisher.publish, publisher.publish_batch
        # One that failed would only have its delivery come again, and its handler fail again.
        republish = partial(measured.publish_batch, on_blocked="wait")
        self._republisher = Republisher(republish, self._declare_again)
        self._consumers: list[AnyConsumer] = []
        self._queues = list(queues)
        self._checked: set[str] = set()
        """Queues whose retry rules have been looked at."""
        self._tasks: TaskGroup | None = None

    # -- what the app calls ------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._supervisor.state

    async def wait_ready(self, timeout_s: float | None) -> None:
        """See :meth:`Supervisor.wait_ready`."""
        await self._supervisor.wait_ready(timeout_s)

    async def call(self, message: Message, reply: Any, deadline_s: float | None) -> Any:
        """See :meth:`Caller.call`."""
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        return await self._call(message, reply, allowed_s)

    @asynccontextmanager
    async def running(self, drain_timeout_s: float) -> AsyncIterator[None]:
        """Connect in the background; at the end drain, and close everything.

        Raises what ended the first start, or what a part of the machinery raised: the block is
        cancelled then. A block that is cancelled, or ended by such an error, does not wait for
        handlers.
        """
        async with self._attached(), self._resources, self._supervisor, self._publisher:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch_first_start)
                    tasks.start_soon(self._drift.run)
                    for consumer in self._consumers:
                        tasks.start_soon(consumer.run)
                    self._tasks = tasks
                    graceful = True
                    try:
                        yield
                    except asyncio.CancelledError:
                        graceful = False
                        raise
                    finally:
                        self._tasks = None
                        await self._drain(drain_timeout_s if graceful else 0.0)
                        tasks.cancel_scope.cancel()
            except BaseExceptionGroup as group:
                raise _single(group) from None
            finally:
                await self._close()

    # -- what the handles of queues call -----------------------------------------------------

    def adopt(self, queue: QueueHandle) -> None:
        """Have the consumers of a queue that is new to the app."""
        self._queues.append(queue)
        queue.attach(self)

    def start(self, queue: QueueHandle, make: MakeConsumer) -> AnyConsumer:
        """Make a consumer, and run it: now if the client runs, else as soon as it does."""
        if queue.temporary is not None:
            self._cache.add_server_named(queue.name, queue.temporary.queue)
            self._cache.add(queue.temporary.bindings)
        consumer = make(self._settler(queue), self)
        if queue.pace is not None:
            consumer.limit(queue.pace)
        if self._wrap is not None:
            consumer.surround(self._wrap)
        if self._clock is not None:
            self._clock.watch(consumer)
        self._observation.consumer_begins(consumer, queue)
        if (tracing := self._middleware.tracing) is not None:
            is_temporary = queue.temporary is not None
            around = tracing.around_attempts(queue.name, self._broker, is_temporary=is_temporary)
            consumer.surround_attempts(around)
        self._consumers.append(consumer)
        if self._tasks is not None:
            consumer.hold()
            self._tasks.start_soon(consumer.run)
            self._tasks.start_soon(_begin, queue, consumer)
        elif queue.is_paused:
            consumer.hold()
        return consumer

    async def end(self, consumer: AnyConsumer) -> None:
        """Stop the consumer: return when its handlers are done, and its channel is closed."""
        await consumer.stop()
        await consumer.close()
        self._consumers.remove(consumer)
        self._observation.consumer_ended(consumer)

    async def depth(self, queue: str, deadline_s: float) -> QueueDepth:
        """See :meth:`QueueHandle.stats`."""
        return await depth_of(self.current_name(queue), self._supervisor, deadline_s)

    async def forget(self, temporary: Temporary) -> None:
        """Declare it no more, and delete it: nobody reads it, and it would fill up."""
        name = self._cache.current_name(temporary.name)
        self._cache.forget(replace(temporary.queue, name=temporary.name))
        try:
            channel = await self._supervisor.consuming_connection().channel()
            await channel.delete_queue(name)
            await channel.close()
        except MqkitError as error:  # its connection is gone, and it is gone with that
            _LOG.info("%r is not deleted: %s", temporary, error)

    # -- what its consumers call -------------------------------------------------------------

    def consuming_connection(self) -> Connection:
        """Raises :exc:`~mqkit.errors.ConnectionLost` while there is none."""
        return self._supervisor.consuming_connection()

    async def open_connection(self, role: str) -> Connection:
        """See :meth:`Supervisor.open_another`."""
        return await self._supervisor.open_another(role)

    def current_name(self, queue: str) -> str:
        """The name that the broker has for ``queue`` now.

        Raises :exc:`~mqkit.errors.ChannelError` for a temporary queue that the broker refused to
        declare or to bind.
        """
        if (refused := self._cache.refusal_of(queue)) is not None:
            raise ChannelError(refused.reply_code, refused.reply_text)
        return self._cache.current_name(queue)

    async def declare(self, connection: Connection, *, is_connect: bool = False) -> None:
        """Declare the whole topology. What the broker refuses is logged, and the rest goes on."""
        declared = await self._drift.declare_all(connection.channel, is_connect=is_connect)
        self._refusals.tell(declared.quarantined)
        self._observation.declared(declared)

    # -- its own -----------------------------------------------------------------------------

    @asynccontextmanager
    async def _attached(self) -> AsyncIterator[None]:
        """The handles of queues, with their consumers made for this client."""
        self._middleware.is_taken = True
        self._observation.begins()
        try:
            for queue in self._queues:
                queue.attach(self)
            yield
        finally:
            self._middleware.is_taken = False
            for queue in self._queues:
                queue.detach()
            self._observation.ended(self._consumers)

    def _settler(self, queue: QueueHandle) -> Settler:
        rules = self._rules(queue.name)
        if queue.name not in self._checked:
            self._checked.add(queue.name)
            warn_of_unknown_errors(rules)
        publish_many = self._republisher.publish_many
        if (clock := self._clock) is None:
            return Settler(rules, publish_many, Stats(), Pause(), hooks=queue.hooks)
        pause = Pause(clock=clock)
        return Settler(rules, publish_many, Stats(), pause, clock.utc_now, clock, hooks=queue.hooks)

    def _rules(self, queue: str) -> QueueRules:
        if self._topology is None:
            return QueueRules.of(queue, None)
        return QueueRules.of(queue, self._topology.queue(queue), parking_in(self._topology, queue))

    def _broker(self) -> Endpoint | None:
        return self._supervisor.endpoint

    async def _declare_again(self) -> None:
        await self.declare(self._supervisor.consuming_connection())

    async def _open_channel(self) -> Channel:
        return await self._supervisor.consuming_connection().channel()

    async def _watch_drift(self) -> None:
        self._drift.connected()

    async def _subscribe(self, connection: Connection) -> None:
        for consumer in tuple(self._consumers):
            await consumer.subscribe(connection)

    async def _watch_first_start(self) -> None:
        """A login that is refused ends the app, even if nobody waits for it to be ready."""
        try:
            await self._supervisor.wait_ready()
        except Closed:
            return

    async def _drain(self, timeout_s: float) -> None:
        with anyio.CancelScope(shield=True):
            self._supervisor.drain()
            await drain(tuple(self._consumers), [self._caller, self._publisher], timeout_s)

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            for consumer in tuple(self._consumers):
                await consumer.close()
            await self._caller.close()
            await self._publisher.close()
            await self._pool.close()
            await self._supervisor.close()
            await self._drift_hooks.close()
            await self._observation.close()


def _pool(supervisor: Supervisor, settings: Settings) -> ChannelPool:
    return ChannelPool(
        supervisor.open_publishing_channel,
        channels_max=settings.channels_max,
        borrow_timeout_s=settings.borrow_timeout_s,
    )


def _publisher(pool: ChannelPool, supervisor: Supervisor, settings: Settings) -> Publisher:
    return Publisher(
        pool,
        supervisor,
        max_message_bytes=settings.max_message_bytes,
        lanes=settings.publish_lanes,
        window=settings.publish_window,
        deadline_s=settings.publish_deadline_s,
        on_blocked=settings.on_blocked,
        waiting_octets_max=settings.publish_waiting_bytes_max,
    )


async def _begin(queue: QueueHandle, consumer: AnyConsumer) -> None:
    """The first subscription of a consumer that is added while the client runs."""
    if not queue.is_paused:
        await consumer.resume()


def _single(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that the group was made around, where it is one: callers catch that, not groups.

    A first start that fails reaches several who wait for it, with the same error.
    """
    leaves: dict[int, BaseException] = {}

    def collect(error: BaseException) -> None:
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                collect(inner)
        else:
            if isinstance(error, HandlerExit) and error.__cause__ is not None:
                error = error.__cause__
            leaves[id(error)] = error

    collect(group)
    return next(iter(leaves.values())) if len(leaves) == 1 else group
