"""Declaring the topology over a blocking channel, by the code that declares it over an asyncio one.

:class:`~mqkit.topology.TopologyCache` awaits its channels. Here each of these coroutines is done
when it returns, so nothing is ever waited for, and no event loop is needed.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.topology import Redeclared, TopologyCache
from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit.transport.seam import Channel

ResultT = TypeVar("ResultT")


class _AwaitedChannel:
    """The verbs of :class:`~mqkit.transport.seam.Channel` that declare."""

    def __init__(self, channel: BlockingChannel) -> None:
        self._channel = channel

    @property
    def is_open(self) -> bool:
        return self._channel.is_open

    async def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        self._channel.declare_exchange(exchange, passive=passive)

    async def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        return self._channel.declare_queue(queue, passive=passive)

    async def bind(self, binding: Binding) -> None:
        self._channel.bind(binding)

    async def close(self) -> None:
        self._channel.close()


def declare_all(cache: TopologyCache, connection: BlockingConnection) -> Redeclared:
    """:meth:`TopologyCache.declare_all <mqkit.topology.TopologyCache.declare_all>` on channels of
    ``connection``. Raises as that."""

    async def open_channel() -> Channel:
        return cast(Channel, _AwaitedChannel(connection.channel()))

    return _returned(cache.declare_all(open_channel))


def _returned(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """The value of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: ResultT = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking channel was waited for")
