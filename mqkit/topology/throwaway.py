"""Channels that may die: a refused declaration closes its channel, so each gets a new one after
that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

from mqkit.declaration import Binding, Declaration, Exchange, Queue, QueueState
from mqkit.errors import ChannelError, ConnectionLost, ConnectionRefused, MqkitError
from mqkit.transport.seam import Channel, Connection, Endpoint, Transport

NOT_FOUND = 404

ResultT = TypeVar("ResultT")
OpenChannel: TypeAlias = Callable[[], Awaitable[Channel]]
"""Opens a channel that nobody else uses, without confirms: ``connection.channel`` is one. Raises
what ended the connection when it is gone (``ConnectionRefused`` if it was the broker)."""


class ThrowAwayChannel:
    """One channel at a time, opened when it is needed, and again when the last one was closed."""

    def __init__(self, open_channel: OpenChannel) -> None:
        self._open_channel = open_channel
        self._channel: Channel | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._channel is not None and self._channel.is_open:
            await self._channel.close()

    async def ready(self) -> None:
        """Have a channel open; whatever goes wrong here is not the fault of what comes next."""
        if self._channel is None or not self._channel.is_open:
            self._channel = await self._open_channel()

    async def run(self, act: Callable[[Channel], Awaitable[ResultT]]) -> ResultT:
        """Do ``act`` on a channel that is open; its errors go through.

        Raises :exc:`~mqkit.errors.ConnectionRefused` if the broker closed the connection for it.
        """
        await self.ready()
        assert self._channel is not None
        try:
            return await act(self._channel)
        except ConnectionLost as lost:
            raise await self._reason(lost) from lost

    async def _reason(self, lost: ConnectionLost) -> ConnectionLost | ConnectionRefused:
        """A channel knows only that its connection is gone. Whether the broker closed it, and why,
        shows when another channel is asked for."""
        try:
            self._channel = await self._open_channel()
        except ConnectionRefused as refused:
            return refused
        except MqkitError:
            pass
        return lost

    async def declare(self, declaration: Declaration) -> QueueState | None:
        """Declare one object, or bind; what the broker says of a queue."""
        return await self.run(lambda channel: declare(channel, declaration))


async def declare(channel: Channel, declaration: Declaration) -> QueueState | None:
    """Declare one object on ``channel``; idempotent at the broker."""
    match declaration:
        case Exchange():
            await channel.declare_exchange(declaration)
        case Queue():
            return await channel.declare_queue(declaration)
        case Binding():
            await channel.bind(declaration)
    return None


async def is_missing(declaration: Exchange | Queue, channel: ThrowAwayChannel) -> bool:
    """True if the broker has no such object (404). A passive declare compares nothing, but a queue
    with ``x-expires`` counts as used by it. Raises other refusals."""
    try:
        if isinstance(declaration, Exchange):
            await channel.run(lambda on: on.declare_exchange(declaration, passive=True))
        else:
            await channel.run(lambda on: on.declare_queue(declaration, passive=True))
    except ChannelError as error:
        if error.reply_code != NOT_FOUND:
            raise
        return True
    return False


@asynccontextmanager
async def channels_of(
    transport: Transport, endpoint: Endpoint, *, timeout_s: float
) -> AsyncIterator[OpenChannel]:
    """Channels on a connection of their own; when that is gone, the first call says why if the
    broker closed it, and the next call connects again.

    For scripts and the command line; an application has its supervisor.
    """
    connection: Connection | None = None
    ended: list[MqkitError | None] = []

    async def open_channel() -> Channel:
        nonlocal connection
        if connection is None or not connection.is_open:
            if ended and isinstance(reason := ended.pop(), ConnectionRefused):
                raise reason  # once: the next call connects again
            ended.clear()
            connection = await transport.connect(
                endpoint, name="mqkit topology", timeout_s=timeout_s
            )
            connection.on_closed(ended.append)
        return await connection.channel()

    try:
        # Connecting now, so that a wrong URL or password shows before anything is done.
        await (await open_channel()).close()
        yield open_channel
    finally:
        if connection is not None:
            await connection.close()
