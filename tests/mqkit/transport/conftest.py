"""The adapters under test, all behind the asynchronous seam.

A blocking adapter is driven through :class:`_AsyncConnection` and :class:`_AsyncChannel`, which
call it in worker threads and bring its callbacks back to the event loop; so one suite serves both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.transport.blocking import BlockingChannel, BlockingConnection, BlockingTransport
from mqkit.transport.native import NativeTransport
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.over_pika.adapter import PikaTransport
from mqkit.transport.seam import (
    Channel,
    Connection,
    Endpoint,
    OnBlocked,
    OnCancel,
    OnClosed,
    OnDelivery,
    Transport,
)
from mqkit.url import parse

Argument = TypeVar("Argument")


def _on_loop(callback: Callable[[Argument], None]) -> Callable[[Argument], None]:
    loop = asyncio.get_running_loop()
    return lambda argument: _call_soon(loop, callback, argument)


def _call_soon(
    loop: asyncio.AbstractEventLoop, callback: Callable[[Argument], None], argument: Argument
) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback, argument)


class _AsyncChannel:
    def __init__(self, channel: BlockingChannel) -> None:
        self._channel = channel

    @property
    def is_open(self) -> bool:
        return self._channel.is_open

    async def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        await asyncio.to_thread(self._channel.declare_exchange, exchange, passive=passive)

    async def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        return await asyncio.to_thread(self._channel.declare_queue, queue, passive=passive)

    async def bind(self, binding: Binding) -> None:
        await asyncio.to_thread(self._channel.bind, binding)

    async def unbind(self, binding: Binding) -> None:
        await asyncio.to_thread(self._channel.unbind, binding)

    async def delete_exchange(self, name: str, *, if_unused: bool = False) -> None:
        await asyncio.to_thread(self._channel.delete_exchange, name, if_unused=if_unused)

    async def delete_queue(
        self, name: str, *, if_unused: bool = False, if_empty: bool = False
    ) -> int:
        return await asyncio.to_thread(
            self._channel.delete_queue, name, if_unused=if_unused, if_empty=if_empty
        )

    async def purge(self, queue: str) -> int:
        return await asyncio.to_thread(self._channel.purge, queue)

    async def qos(self, prefetch_count: int) -> None:
        await asyncio.to_thread(self._channel.qos, prefetch_count)

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        futures = await asyncio.to_thread(self._channel.publish_many, messages)
        return [asyncio.wrap_future(future) for future in futures]

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        return await asyncio.to_thread(self._channel.get, queue, no_ack=no_ack)

    async def consume(
        self,
        queue: str,
        on_delivery: OnDelivery,
        *,
        on_cancel: OnCancel | None = None,
        no_ack: bool = False,
        exclusive: bool = False,
        consumer_tag: str = "",
        arguments: Mapping[str, object] | None = None,
    ) -> str:
        return await asyncio.to_thread(
            self._channel.consume,
            queue,
            _on_loop(on_delivery),
            on_cancel=None if on_cancel is None else _on_loop(on_cancel),
            no_ack=no_ack,
            exclusive=exclusive,
            consumer_tag=consumer_tag,
            arguments=arguments,
        )

    async def cancel(self, consumer_tag: str) -> None:
        await asyncio.to_thread(self._channel.cancel, consumer_tag)

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        await asyncio.to_thread(self._channel.ack, delivery_tag, multiple=multiple)

    async def nack(
        self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True
    ) -> None:
        await asyncio.to_thread(
            self._channel.nack, delivery_tag, multiple=multiple, requeue=requeue
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._channel.close)

    def on_closed(self, callback: OnClosed) -> None:
        self._channel.on_closed(_on_loop(callback))


class _AsyncConnection:
    def __init__(self, connection: BlockingConnection) -> None:
        self._connection = connection

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def server_properties(self) -> dict[str, object]:
        return self._connection.server_properties

    async def channel(self, *, confirms: bool = False) -> Any:
        return _AsyncChannel(await asyncio.to_thread(self._connection.channel, confirms=confirms))

    async def close(self) -> None:
        await asyncio.to_thread(self._connection.close)

    def on_blocked(self, callback: OnBlocked) -> None:
        self._connection.on_blocked(_on_loop(callback))

    def on_closed(self, callback: OnClosed) -> None:
        self._connection.on_closed(_on_loop(callback))


class _AsyncTransport:
    def __init__(self, transport: BlockingTransport) -> None:
        self._transport = transport

    async def connect(
        self, endpoint: Endpoint, *, name: str, timeout_s: float, heartbeat_s: int = 60
    ) -> Connection:
        return _AsyncConnection(
            await asyncio.to_thread(
                self._transport.connect,
                endpoint,
                name=name,
                timeout_s=timeout_s,
                heartbeat_s=heartbeat_s,
            )
        )


@pytest.fixture(params=["aio-pika", "pika", "native", "native-blocking"])
def transport(request: pytest.FixtureRequest) -> Transport:
    if request.param == "pika":
        return _AsyncTransport(PikaTransport())
    if request.param == "native":
        return NativeTransport()
    if request.param == "native-blocking":
        return _AsyncTransport(NativeBlockingTransport())
    return AioPikaTransport()


@pytest.fixture
async def connection(transport: Transport, broker_url: str) -> AsyncIterator[Connection]:
    connection = await transport.connect(parse(broker_url), name="conformance", timeout_s=10)
    yield connection
    await connection.close()


@pytest.fixture
async def channel(connection: Connection) -> Channel:
    """A confirm channel."""
    return await connection.channel(confirms=True)


@pytest.fixture
async def queue(channel: Channel, name: str) -> str:
    """An empty queue, gone when the connection is."""
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    return name
