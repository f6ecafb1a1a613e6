"""The broker as the tools for lots see it: connections, channels, depths, each with a deadline.

A queue is a lot by its name, or because somebody said so (:mod:`mqkit.retry.known_lots`).
What takes messages out of a lot for good touches nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mqkit.declaration import Queue, QueueState
from mqkit.errors import ChannelError, ConfigurationError, DeadlineExceeded
from mqkit.lots.publishing import PublishOver, publish_over
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.names import PARKED
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

NOT_FOUND = 404


def utc_now() -> datetime:
    """The time, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class LotLink:
    """A broker, and what is known about its lots. Each step at the broker has ``timeout_s``
    seconds; after that :exc:`~mqkit.errors.DeadlineExceeded` says what was waited for.

    ``transport`` has to be exact for headers to keep their types. ``now`` and ``sleep`` are the
    clock of ages and rates. ``publish_over`` is how tools publish
    (:func:`mqkit.otel.traced` puts spans around it).
    """

    endpoint: Endpoint
    timeout_s: float = 30.0
    known: KnownLots = field(default_factory=KnownLots)
    transport: Transport = field(default_factory=lambda: NativeTransport(exact=True), repr=False)
    now: Callable[[], datetime] = field(default=utc_now, repr=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    publish_over: PublishOver = field(default=publish_over, repr=False)

    def check_lot(self, queue: str) -> None:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for a queue that is no lot: a slip of the
        finger must not empty a queue at work."""
        if not self.known.is_lot(queue):
            raise ConfigurationError(
                f"{queue!r} is not a parking lot: their names end in {PARKED}, or a topology file"
                " (-f) or --lot names them; it was not touched"
            )

    def step(self, waited_for: str) -> AbstractAsyncContextManager[None]:
        """A deadline around one answer of the broker."""
        return _deadline(self.timeout_s, f"{waited_for} (broker {self.endpoint})")

    @asynccontextmanager
    async def connection(self, purpose: str) -> AsyncIterator[Connection]:
        """A connection for the time of the block."""
        connection = await self.transport.connect(
            self.endpoint, name=f"mqkit parking lot ({purpose})", timeout_s=self.timeout_s
        )
        try:
            yield connection
        finally:
            async with self.step("the end of the connection"):
                await connection.close()

    async def channel(self, connection: Connection, *, confirms: bool = False) -> Channel:
        """A channel."""
        async with self.step("a channel"):
            return await connection.channel(confirms=confirms)

    async def state(self, channel: Channel, queue: str) -> QueueState:
        """The counts of a queue. Raises :exc:`~mqkit.errors.ConfigurationError` if there is none of
        that name; ``channel`` is closed then."""
        async with self.step(f"the depth of {queue!r}"):
            try:
                return await channel.declare_queue(Queue(queue), passive=True)
            except ChannelError as error:
                if error.reply_code != NOT_FOUND:
                    raise
                raise ConfigurationError(
                    f"there is no queue {queue!r} on {self.endpoint}"
                ) from error


@asynccontextmanager
async def _deadline(timeout_s: float, waited_for: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(f"waited {timeout_s:g} s for {waited_for}") from None
