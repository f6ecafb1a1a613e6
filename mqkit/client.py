"""The connected half of an app: what exists while it is entered, and the order of its end.

    supervisor  connects, and calls the hooks: topology, then consumers
    publisher   over the pool of confirm channels, on the publishing connection
    consumers   on the consuming connection; what they republish goes through the publisher

At the end: connect no more, drain consumers and publisher, then close channels and connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias

import anyio

from mqkit.consumer import Pause, QueueRules, Settler, Stats, drain
from mqkit.consumer.handler import HandlerExit
from mqkit.consumer.republish import Republisher
from mqkit.consumer.subscription import Link
from mqkit.errors import Closed, ConfigurationError
from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool import ChannelPool, Publisher
from mqkit.rpc.caller import Caller
from mqkit.settings import Settings
from mqkit.supervision.supervisor import Supervisor
from mqkit.supervision.states import State
from mqkit.topology import Topology, TopologyCache, compile_topology
from mqkit.topology.refusal_log import RefusalLog
from mqkit.transport.seam import Connection, Transport


class AnyConsumer(Protocol):
    """A consumer of either kind."""

    async def run(self) -> None: ...
    async def subscribe(self, connection: Connection) -> None: ...
    async def stop(self) -> None: ...
    async def close(self) -> None: ...


MakeConsumer: TypeAlias = Callable[[Settler, Link], AnyConsumer]
"""Makes a consumer that belongs to one client."""


class Client:
    """Use it as ``async with client.running(timeout)``, once. Belongs to one event loop."""

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        topology: Topology | None,
        consumers: Iterable[tuple[str, MakeConsumer]],
        stats: Stats,
    ) -> None:
        self._topology = topology
        self._cache = TopologyCache()
        if topology is not None:
            _check_vhost(topology, settings)
            self._cache.add(compile_topology(topology))
        self._declaring = asyncio.Lock()
        self._refusals = RefusalLog()
        self._supervisor = Supervisor(
            transport,
            settings.endpoints,
            settings,
            on_declare=self.declare,
            on_consume=self._subscribe,
        )
        self._pool = ChannelPool(
            self._supervisor.open_publishing_channel,
            channels_max=settings.channels_max,
            borrow_timeout_s=settings.borrow_timeout_s,
        )
        self._publisher = Publisher(
            self._pool,
            self._supervisor,
            max_message_bytes=settings.max_message_bytes,
            lanes=settings.publish_lanes,
            window=settings.publish_window,
            deadline_s=settings.publish_deadline_s,
        )
        self._caller = Caller(
            self._supervisor.open_publishing_channel,
            self._supervisor.describe,
            max_message_bytes=settings.max_message_bytes,
        )
        self._deadline_s = settings.publish_deadline_s
        self._republisher = Republisher(self.publish_many, self._declare_again)
        self._consumers = [make(self._settler(queue, stats), self) for queue, make in consumers]

    # -- what the app calls ------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._supervisor.state

    async def wait_ready(self, timeout_s: float | None) -> None:
        """See :meth:`Supervisor.wait_ready`."""
        await self._supervisor.wait_ready(timeout_s)

    def publish(self, message: Message, deadline_s: float | None) -> Awaitable[Outcome]:
        """See :meth:`Publisher.publish`."""
        return self._publisher.publish(message, deadline_s=deadline_s)

    async def publish_many(
        self, messages: Sequence[Message], deadline_s: float | None = None
    ) -> list[Outcome]:
        """See :meth:`Publisher.publish_batch`."""
        return await self._publisher.publish_batch(messages, deadline_s=deadline_s)

    async def call(self, message: Message, reply: Any, deadline_s: float | None) -> Any:
        """See :meth:`Caller.call`."""
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        return await self._caller.call(message, reply, allowed_s)

    @asynccontextmanager
    async def running(self, drain_timeout_s: float) -> AsyncIterator[None]:
        """Connect in the background; at the end drain, and close everything.

        Raises what ended the first start, or what a part of the machinery raised: the block is
        cancelled then. A block that is cancelled, or ended by such an error, does not wait for
        handlers.
        """
        async with self._supervisor, self._publisher:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch_first_start)
                    for consumer in self._consumers:
                        tasks.start_soon(consumer.run)
                    graceful = True
                    try:
                        yield
                    except asyncio.CancelledError:
                        graceful = False
                        raise
                    finally:
                        await self._drain(drain_timeout_s if graceful else 0.0)
                        tasks.cancel_scope.cancel()
            except BaseExceptionGroup as group:
                raise _single(group) from None
            finally:
                await self._close()

    # -- what its consumers call -------------------------------------------------------------

    def consuming_connection(self) -> Connection:
        """Raises :exc:`~mqkit.errors.ConnectionLost` while there is none."""
        return self._supervisor.consuming_connection()

    def current_name(self, queue: str) -> str:
        """The name that the broker has for ``queue`` now."""
        return self._cache.current_name(queue)

    async def declare(self, connection: Connection) -> None:
        """Declare the whole topology. What the broker refuses is logged, and the rest goes on."""
        async with self._declaring:
            declared = await self._cache.declare_all(connection.channel)
        self._refusals.tell(declared.quarantined)

    # -- its own -----------------------------------------------------------------------------

    def _settler(self, queue: str, stats: Stats) -> Settler:
        model = self._topology.queue(queue) if self._topology is not None else None
        rules = QueueRules.of(queue, model)
        return Settler(rules, self._republisher.publish_many, stats, Pause())

    async def _declare_again(self) -> None:
        await self.declare(self._supervisor.consuming_connection())

    async def _subscribe(self, connection: Connection) -> None:
        for consumer in self._consumers:
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
            await drain(self._consumers, [self._caller, self._publisher], timeout_s)

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            for consumer in self._consumers:
                await consumer.close()
            await self._caller.close()
            await self._publisher.close()
            await self._pool.close()
            await self._supervisor.close()


def _check_vhost(topology: Topology, settings: Settings) -> None:
    for endpoint in settings.endpoints:
        if topology.vhost is not None and topology.vhost != endpoint.vhost:
            raise ConfigurationError(
                f"{topology.file} is for the vhost {topology.vhost!r}, but the URL {endpoint}"
                f" leads to {endpoint.vhost!r}: write the vhost into the URL"
            )


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
