"""The broker as the steps of a migration see it: one connection, which has the lock.

The lock is an exclusive queue. A process that was killed loses it with its connection, and what it
had written to that connection is done or gone by then: whoever has the lock is alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from mqkit.declaration import Binding, Queue, QueueState
from mqkit.errors import ChannelError, DeadlineExceeded
from mqkit.topology.live.management import Management, open_management
from mqkit.topology.migration.journal import Journal
from mqkit.topology.migration.migration import Direction, Migration
from mqkit.topology.migration.names import lock_name
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.snapshot import live_binding, live_queue
from mqkit.topology.throwaway import NOT_FOUND, ThrowAwayChannel
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

ResultT = TypeVar("ResultT")

RESOURCE_LOCKED = 405
LOCK_AGAIN_S = 0.1
LOOK_AGAIN_S = 0.25
"""The pause between two looks at a queue that is not at rest yet."""
WAIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Site:
    """A broker, and how long to wait for it: ``timeout_s`` for an answer, ``wait_s`` for a queue to
    come to rest, which it is when every look says so for ``settle_s`` (``None``: what suits the
    product).

    ``transport`` has to open transactional channels, and to be exact for messages to stay as they
    are.
    """

    endpoint: Endpoint
    management_url: str = field(repr=False)
    timeout_s: float = 30.0
    wait_s: float = WAIT_S
    settle_s: float | None = None
    transport: Transport = field(default_factory=lambda: NativeTransport(exact=True), repr=False)
    now: Callable[[], float] = field(default=time.monotonic, repr=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)


@dataclass(frozen=True, slots=True)
class Session:
    """A run. ``gap`` accepts that messages are lost which come to the queue by its name while it is
    away."""

    site: Site
    connection: Connection
    journal: Journal
    channel: ThrowAwayChannel
    settle_s: float
    gap: bool = False

    @property
    def migration(self) -> Migration:
        """The migration, as the journal has it."""
        return self.journal.progress.migration

    @property
    def direction(self) -> Direction:
        """The way: to the queue of the file, or back."""
        return self.journal.progress.direction

    @property
    def target(self) -> Queue:
        """The queue that there shall be in the end."""
        return self.migration.target(self.direction)

    async def call(self, act: Callable[[Channel], Awaitable[ResultT]], waited_for: str) -> ResultT:
        """One answer of the broker, on a channel that may die of it."""
        async with deadline(self.site, waited_for):
            return await self.channel.run(act)

    async def state(self, queue: str) -> QueueState | None:
        """The counts of a queue; ``None`` if it is not there."""
        try:
            return await self.call(
                lambda on: on.declare_queue(Queue(queue), passive=True), f"the depth of {queue!r}"
            )
        except ChannelError as error:
            if error.reply_code != NOT_FOUND:
                raise
            return None

    async def live(self) -> Queue | None:
        """The queue as it is declared now; ``None`` if it is not there."""
        async with self.management() as management:
            row = await management.queue(self.migration.queue)
        return None if row is None else live_queue(row).queue

    async def direct_bindings(self) -> list[Binding]:
        """The bindings of the queue to exchanges, but for the migration's own."""
        queue = self.migration.queue
        async with self.management() as management:
            rows = await management.bindings_of(queue)
        return [live_binding(row) for row in rows if not is_ours(str(row["source"]), queue)]

    @asynccontextmanager
    async def management(self) -> AsyncIterator[Management]:
        """The management API, for one look."""
        site = self.site
        vhost = self.migration.vhost
        async with open_management(
            site.management_url, vhost, timeout_s=site.timeout_s
        ) as management:
            yield management


def is_ours(source: str, queue: str) -> bool:
    """True for the default exchange, and for those of the migration of ``queue``."""
    return source == "" or source.startswith(f"{queue}.migrating.")


@asynccontextmanager
async def locked(site: Site, queue: str) -> AsyncIterator[Connection]:
    """A connection that has the lock of ``queue``. Raises :exc:`Stopped` if another one has it for
    ``timeout_s``."""
    connection = await site.transport.connect(
        site.endpoint, name=f"mqkit topology migrate {queue}", timeout_s=site.timeout_s
    )
    try:
        await _lock(site, connection, queue)
        yield connection
    finally:
        async with deadline(site, "the end of the connection"):
            await connection.close()


async def _lock(site: Site, connection: Connection, queue: str) -> None:
    """A process that was killed has it until the broker has seen the end of its connection."""
    lock = Queue(lock_name(queue), durable=False, exclusive=True)
    until = site.now() + site.timeout_s
    while True:
        async with deadline(site, "the lock"):
            channel = await connection.channel()
            try:
                await channel.declare_queue(lock)
            except ChannelError as error:
                if error.reply_code != RESOURCE_LOCKED:
                    raise
            else:
                return
        if site.now() > until:
            raise Stopped(f"another process migrates {queue!r} now (it has {lock.name!r})")
        await site.sleep(LOCK_AGAIN_S)


@asynccontextmanager
async def deadline(site: Site, waited_for: str) -> AsyncIterator[None]:
    """A deadline around one answer of the broker."""
    try:
        async with asyncio.timeout(site.timeout_s):
            yield
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(
            f"waited {site.timeout_s:g} s for {waited_for} (broker {site.endpoint}); the same"
            " command goes on"
        ) from None
