"""The connection of the seam, on ``aio_pika.connect``: opened once, never reopened."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import aio_pika
from aiormq import spec
from aiormq.abc import AbstractConnection
from pamqp.base import Frame

from mqkit.errors import Closed, ConnectionLost, MqkitError
from mqkit.transport.over_aio_pika.channel import AioPikaChannel, AioPikaTransactionalChannel
from mqkit.transport.over_aio_pika.content import table_from_wire
from mqkit.transport.over_aio_pika.errors import connection_loss, lost_channel
from mqkit.transport.over_aio_pika.frames import CLOSE_TIMEOUT_S
from mqkit.transport.over_aio_pika.silence import SilenceWatch
from mqkit.transport.over_aio_pika.tap import TappedTransportFactory
from mqkit.transport.seam import OnBlocked, OnClosed

ChannelT = TypeVar("ChannelT", bound=AioPikaChannel)


class AioPikaConnection:
    """A :class:`mqkit.transport.seam.Connection`. Get one from ``AioPikaTransport``."""

    def __init__(
        self,
        connection: aio_pika.abc.AbstractConnection,
        tap: TappedTransportFactory | None,
        heartbeat_s: int = 0,
    ) -> None:
        if connection.transport is None:
            raise Closed("the aio-pika connection is not open")
        self._outer = connection
        self._inner: AbstractConnection = connection.transport.connection
        self._tap = tap
        self._heartbeat_s = heartbeat_s
        self._channels: list[AioPikaChannel] = []
        self._open = True
        self._closed_here = False
        self._error: MqkitError | None = None
        self._on_blocked: list[OnBlocked] = []
        self._on_closed: list[OnClosed] = []
        self._inner.closing.add_done_callback(self._ended)
        self._silence: SilenceWatch | None = None
        if tap is not None:
            tap.listen(self._control_frame)
            call_later = asyncio.get_running_loop().call_later
            self._silence = SilenceWatch(heartbeat_s, call_later, tap.take_heard, self._fell_silent)

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def server_properties(self) -> dict[str, object]:
        return dict(table_from_wire(self._inner.server_properties))

    async def channel(self, *, confirms: bool = False) -> AioPikaChannel:
        self._raise_if_closed()
        return await self._opened(AioPikaChannel(self._inner, confirms=confirms))

    async def transactional_channel(self) -> AioPikaTransactionalChannel:
        """See :class:`mqkit.transport.seam.OpensTransactions`."""
        self._raise_if_closed()
        return await self._opened(AioPikaTransactionalChannel(self._inner))

    def _raise_if_closed(self) -> None:
        if not self._open:
            raise self._error or Closed("the connection was closed by this program")

    async def _opened(self, channel: ChannelT) -> ChannelT:
        self._channels.append(channel)
        channel.on_closed(lambda _: self._forget(channel))
        await channel.open()
        return channel

    async def close(self) -> None:
        if not self._open:
            return
        self._closed_here = True
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._outer.close()
        except TimeoutError:
            if self._tap is not None:
                self._tap.abort()
        self._end(None)

    def pause_reading(self) -> None:
        """See :class:`mqkit.transport.seam.PausesReading`. One frame in each heartbeat interval is
        read all the same, for aiormq gives up a connection that says nothing."""
        if self._tap is not None:
            self._tap.pause_reading(self._heartbeat_s)

    def resume_reading(self) -> None:
        """See :class:`mqkit.transport.seam.PausesReading`."""
        if self._tap is not None:
            self._tap.resume_reading()

    def on_blocked(self, callback: OnBlocked) -> None:
        self._on_blocked.append(callback)
        if self._tap is not None and self._tap.blocked_reason is not None:
            callback(self._tap.blocked_reason)

    def on_closed(self, callback: OnClosed) -> None:
        if self._open:
            self._on_closed.append(callback)
        else:
            callback(self._error)

    def _control_frame(self, frame: Frame) -> None:
        if isinstance(frame, (spec.Connection.Blocked, spec.Connection.Unblocked)):
            reason = self._tap.blocked_reason if self._tap is not None else None
            for callback in self._on_blocked:
                callback(reason)

    def _fell_silent(self) -> None:
        self._end(ConnectionLost("the connection is gone: no heartbeat from the broker"))
        if self._tap is not None:
            self._tap.abort()

    def _ended(self, closing: asyncio.Future[Any]) -> None:
        cause = None if closing.cancelled() else closing.exception()
        if self._closed_here:
            self._end(None)
        else:
            self._end(connection_loss(cause, self._tap.close_frame if self._tap else None))

    def _end(self, error: MqkitError | None) -> None:
        if not self._open:
            return
        self._open = False
        self._error = error
        if self._silence is not None:
            self._silence.stop()
        for channel in tuple(self._channels):
            channel.connection_closed(None if error is None else lost_channel(error))
        callbacks, self._on_closed = self._on_closed, []
        for callback in callbacks:
            callback(error)

    def _forget(self, channel: AioPikaChannel) -> None:
        self._channels.remove(channel)
