"""The connection of the seam, on a native connection and asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

from mqkit.transport.native.channel import NativeChannel
from mqkit.transport.native.over_asyncio.channel import (
    NativeAsyncChannel,
    NativeTransactionalChannel,
)
from mqkit.transport.native.over_asyncio.protocol import NativeProtocol
from mqkit.transport.seam import OnBlocked, OnClosed

CLOSE_TIMEOUT_S = 5.0
"""A broker that has blocked us may read nothing, a close neither: then the socket is dropped."""


class NativeAsyncConnection:
    """A :class:`mqkit.transport.seam.Connection`. Get one from ``NativeTransport``."""

    def __init__(self, protocol: NativeProtocol) -> None:
        self._protocol = protocol
        self._connection = protocol.connection

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def server_properties(self) -> dict[str, object]:
        return dict(self._connection.server_properties)

    async def channel(self, *, confirms: bool = False) -> NativeAsyncChannel:
        return NativeAsyncChannel(self._protocol, await self._opened(confirms=confirms))

    async def transactional_channel(self) -> NativeTransactionalChannel:
        """See :class:`mqkit.transport.seam.OpensTransactions`."""
        channel = NativeTransactionalChannel(self._protocol, await self._opened(confirms=False))
        await channel.select()
        return channel

    async def _opened(self, *, confirms: bool) -> NativeChannel:
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        channel = self._connection.open_channel(confirms=confirms, promise=opened)
        try:
            await opened
        except asyncio.CancelledError:
            channel.close()
            raise
        return channel

    async def close(self) -> None:
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connection.close(closed)
        await asyncio.wait((closed,), timeout=CLOSE_TIMEOUT_S)
        if not closed.done():
            self._protocol.abort()

    def pause_reading(self) -> None:
        """See :class:`mqkit.transport.seam.PausesReading`."""
        self._protocol.pause_reading()

    def resume_reading(self) -> None:
        """See :class:`mqkit.transport.seam.PausesReading`."""
        self._protocol.resume_reading()

    def on_blocked(self, callback: OnBlocked) -> None:
        self._connection.on_blocked(callback)

    def on_closed(self, callback: OnClosed) -> None:
        self._connection.on_closed(callback)
