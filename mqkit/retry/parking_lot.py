"""The tools for parking lots: count, look, send back, empty. Over the transport seam.

The law of this file: a message leaves a parking lot only when the broker has confirmed it
elsewhere, or when somebody purges. Whatever else happens - a lost link, a refusal, a deadline -
it stays, in its place.

Every step at the broker has ``timeout_s`` seconds; after that
:exc:`~mqkit.errors.DeadlineExceeded` says what was waited for. A replay may take as long as it
goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from mqkit.declaration import Queue
from mqkit.errors import ChannelError, ConfigurationError, DeadlineExceeded
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage, Selection
from mqkit.retry.replay import ReplayReport, ReplayRequest, replay
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

MAX_PEEK = 1_000
"""Messages looked at are held in memory, and unacked on the broker, until the look is over."""

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class ParkingLot:
    """A parking lot on a broker, with its counts. ``queue`` is the one that parks in it; empty if
    there are several, or nobody said. ``exists`` is false if it was not declared there."""

    name: str
    queue: str
    messages: int
    consumers: int
    exists: bool = True


@dataclass(frozen=True, slots=True)
class ParkingLotTools:
    """The tools, for one broker. Each call opens its own connections and closes them.

    ``sleep`` is what the rate limit of a replay waits with. ``known`` has the lots that a topology
    names (:func:`mqkit.topology.retrying.known_lots.known_lots`); the others are known by the form
    of their names.
    """

    transport: Transport
    endpoint: Endpoint
    timeout_s: float = 30.0
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    known: KnownLots = field(default_factory=KnownLots)

    async def ls(self, queues: Iterable[str]) -> tuple[ParkingLot, ...]:
        """The parking lots among ``queues``, with counts, sorted."""
        lots = sorted({name for name in queues if self.known.is_lot(name)})
        async with self._connection("ls") as connection:
            return tuple([await self._count(connection, name) for name in lots])

    async def peek(self, lot: str, limit: int = 10) -> tuple[ParkedMessage, ...]:
        """The first messages of ``lot``, oldest first; they stay there, in the same order.

        The broker marks them as redelivered. Raises :exc:`~mqkit.errors.ConfigurationError` if
        there is no such queue, or ``limit`` is not 1 to :data:`MAX_PEEK`.
        """
        if not 1 <= limit <= MAX_PEEK:
            raise ConfigurationError(f"peek shows 1 to {MAX_PEEK} messages at a time, not {limit}")
        seen: list[ParkedMessage] = []
        async with self._connection("peek") as connection:
            channel = await self._channel(connection)
            # Never more than lie there now: a get after a requeue would give the first one again.
            for _ in range(min(limit, await self._depth(channel, lot))):
                async with self._step(f"a message of {lot!r}"):
                    delivery = await channel.get(lot)
                if delivery is None:
                    break
                seen.append(ParkedMessage.of(delivery, lot, self.known))
            if seen:
                async with self._step(f"the requeue on {lot!r}"):
                    last = seen[-1].delivery.delivery_tag
                    await channel.nack(last, multiple=True, requeue=True)
        return tuple(seen)

    async def replay(
        self,
        lot: str,
        selection: Selection | None = None,
        *,
        to: str | None = None,
        limit: int | None = None,
        rate_per_s: float | None = None,
        dry_run: bool = False,
        on_progress: Callable[[ReplayReport], None] | None = None,
    ) -> ReplayReport:
        """Send the chosen messages of ``lot`` back, each to the queue it failed on (or to ``to``).

        In order; each is acked only after its confirm, so a crash may duplicate and never loses.
        Every message that lay there at the start is looked at once, so a message that fails again
        at once is not sent round. A message replayed too often before is left where it is. With
        ``dry_run`` nothing is sent, and the report says what would have been. A message whose queue
        nobody knows stays, and the report names it.
        """
        target = to or self.known.owner_of(lot)
        if target is None and not self.known.is_lot(lot):
            raise ConfigurationError(
                f"{lot!r} is not named like a parking lot (queue.parked): say where to replay to"
            )
        if target == lot:
            raise ConfigurationError(f"{lot!r} can't be replayed into itself")
        request = ReplayRequest(
            lot, to, selection or Selection(), limit, rate_per_s, dry_run, self.known
        )
        # Two connections: the broker may block the one that publishes, and acks must still pass.
        async with (
            self._connection("replay, reading") as reading,
            self._connection("replay, publishing") as publishing,
        ):
            source = await self._channel(reading)
            depth = await self._depth(source, lot)
            if target is not None:
                await self._depth(await self._channel(publishing), target)
            out = await self._channel(publishing, confirms=True)
            return await replay(
                request, source, out, depth, self._step, self.sleep, on_progress or _silent
            )

    async def purge(self, lot: str) -> int:
        """Delete every ready message of ``lot``; returns how many there were. There is no way back.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a queue that is neither known as a
        parking lot nor named like one: a slip of the finger must not empty a queue at work.
        """
        if not self.known.is_lot(lot):
            raise ConfigurationError(
                f"{lot!r} is not a parking lot (their names end in .parked, or a topology file"
                " names them): not purged"
            )
        async with self._connection("purge") as connection:
            channel = await self._channel(connection)
            await self._depth(channel, lot)
            async with self._step(f"the purge of {lot!r}"):
                return await channel.purge(lot)

    async def _count(self, connection: Connection, name: str) -> ParkingLot:
        owner = self.known.owner_of(name) or ""
        channel = await self._channel(connection)
        async with self._step(f"the depth of {name!r}"):
            try:
                state = await channel.declare_queue(Queue(name), passive=True)
            except ChannelError as error:
                if error.reply_code != NOT_FOUND:
                    raise
                return ParkingLot(name, owner, 0, 0, exists=False)
            await channel.close()
        return ParkingLot(name, owner, state.message_count, state.consumer_count)

    async def _depth(self, channel: Channel, queue: str) -> int:
        async with self._step(f"the depth of {queue!r}"):
            try:
                state = await channel.declare_queue(Queue(queue), passive=True)
            except ChannelError as error:
                if error.reply_code != NOT_FOUND:
                    raise
                raise ConfigurationError(
                    f"there is no queue {queue!r} on {self.endpoint}"
                ) from error
        return state.message_count

    async def _channel(self, connection: Connection, *, confirms: bool = False) -> Channel:
        async with self._step("a channel"):
            return await connection.channel(confirms=confirms)

    @asynccontextmanager
    async def _connection(self, purpose: str) -> AsyncIterator[Connection]:
        connection = await self.transport.connect(
            self.endpoint, name=f"mqkit parking lot ({purpose})", timeout_s=self.timeout_s
        )
        try:
            yield connection
        finally:
            async with self._step("the end of the connection"):
                await connection.close()

    def _step(self, waited_for: str) -> AbstractAsyncContextManager[None]:
        return _deadline(self.timeout_s, f"{waited_for} (broker {self.endpoint})")


@asynccontextmanager
async def _deadline(timeout_s: float, waited_for: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(f"waited {timeout_s:g} s for {waited_for}") from None


def _silent(report: ReplayReport) -> None:
    """Nobody watches."""
