"""The channel of the seam, on a native connection and asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.transport.native.channel import Consumer, NativeChannel
from mqkit.transport.native.over_asyncio.protocol import NativeProtocol
from mqkit.transport.native.requests import (
    bind,
    exchange_declare,
    queue_declare,
    queue_state,
    unbind,
)
from mqkit.transport.native.states import ChannelState
from mqkit.transport.seam import OnCancel, OnClosed, OnDelivery, OnSettled
from mqkit.wire import methods
from mqkit.wire.methods import Method

OUTPUT_OCTETS_MAX = 256 * 1024
"""The octets of publishes that are written at once, whether the turn is over or not."""

FIRST_OUTPUT_OCTETS = 32 * 1024
OUTPUT_GROWTH = 4
"""A long run of publishes to an idle broker begins with a smaller write, to give it work at once;
each next write is so many times as large, and still there before the broker is done."""

CLOSE_TIMEOUT_S = 5.0
"""The time that a peer has to answer a close: it has nothing to do but answer."""


class NativeAsyncChannel:
    """A :class:`mqkit.transport.seam.Channel`. Get one from a connection."""

    def __init__(self, protocol: NativeProtocol, channel: NativeChannel) -> None:
        self._protocol = protocol
        self._channel = channel
        self._tags = count(1)

    @property
    def is_open(self) -> bool:
        return self._channel.is_open

    @property
    def unconfirmed(self) -> int:
        return self._channel.unconfirmed

    async def wait_quiescent(self) -> None:
        if self.unconfirmed:
            quiet: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._channel.wait_quiescent(quiet)
            await quiet

    # -- declaring ---------------------------------------------------------------------------

    async def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        await self._call(exchange_declare(exchange, passive))

    async def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        return queue_state(await self._call(queue_declare(queue, passive)))

    async def bind(self, binding: Binding) -> None:
        await self._call(bind(binding))

    async def unbind(self, binding: Binding) -> None:
        await self._call(unbind(binding))

    async def delete_exchange(self, name: str, *, if_unused: bool = False) -> None:
        await self._call(methods.ExchangeDelete(exchange=name, if_unused=if_unused))

    async def delete_queue(
        self, name: str, *, if_unused: bool = False, if_empty: bool = False
    ) -> int:
        request = methods.QueueDelete(queue=name, if_unused=if_unused, if_empty=if_empty)
        return int((await self._call(request)).message_count)

    async def purge(self, queue: str) -> int:
        return int((await self._call(methods.QueuePurge(queue=queue))).message_count)

    # -- publishing --------------------------------------------------------------------------

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        new_future = asyncio.get_running_loop().create_future
        futures: list[asyncio.Future[Outcome]] = [new_future() for _ in messages]
        await self.publish_run(messages, partial(_resolve, futures))
        return futures

    async def publish_run(self, messages: Sequence[Message], on_settled: OnSettled) -> None:
        """See :meth:`mqkit.transport.seam.PublishesRuns.publish_run`."""
        protocol, position = self._protocol, 0
        octets_max = OUTPUT_OCTETS_MAX if self.unconfirmed else FIRST_OUTPUT_OCTETS
        while position < len(messages):
            if protocol.is_full:
                await protocol.room()
            position = self._channel.publish(
                messages, on_settled, start=position, octets_max=octets_max
            )
            if position < len(messages) or protocol.connection.output_octets >= OUTPUT_OCTETS_MAX:
                protocol.flush()
            octets_max = min(octets_max * OUTPUT_GROWTH, OUTPUT_OCTETS_MAX)
        if protocol.is_full:
            await protocol.room()

    @property
    def can_publish_now(self) -> bool:
        """See :meth:`mqkit.transport.seam.PublishesRuns.can_publish_now`."""
        return not self._protocol.is_full and self._channel.state is ChannelState.OPEN

    def publish_now(self, message: Message, on_settled: OnSettled) -> None:
        """See :meth:`mqkit.transport.seam.PublishesRuns.publish_now`."""
        protocol = self._protocol
        protocol.hold()
        try:
            self._channel.publish((message,), on_settled, octets_max=OUTPUT_OCTETS_MAX)
        finally:
            protocol.flush()

    # -- consuming ---------------------------------------------------------------------------

    async def qos(self, prefetch_count: int) -> None:
        await self._call(methods.BasicQos(prefetch_count=prefetch_count))

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        answer = await self._call(methods.BasicGet(queue=queue, no_ack=no_ack))
        return answer if isinstance(answer, Delivery) else None

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
        tag = consumer_tag or f"mqkit.{self._channel.number}.{next(self._tags)}"
        request = methods.BasicConsume(
            queue=queue,
            consumer_tag=tag,
            no_ack=no_ack,
            exclusive=exclusive,
            arguments=dict(arguments or {}),
        )
        promise = self._promise()
        self._channel.consume(request, Consumer(on_delivery, on_cancel, no_ack), promise)
        await self._answer(promise)
        return tag

    async def cancel(self, consumer_tag: str) -> None:
        if self._channel.has_consumer(consumer_tag):
            await self._call(methods.BasicCancel(consumer_tag=consumer_tag))
            self._channel.forget_consumer(consumer_tag)

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self._channel.ack(delivery_tag, multiple=multiple)

    async def nack(
        self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True
    ) -> None:
        self._channel.nack(delivery_tag, multiple=multiple, requeue=requeue)

    # -- closing -----------------------------------------------------------------------------

    async def close(self) -> None:
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._channel.close(closed)
        await asyncio.wait((closed,), timeout=CLOSE_TIMEOUT_S)
        self._channel.give_up()

    def on_closed(self, callback: OnClosed) -> None:
        self._channel.on_closed(callback)

    # -- inside ------------------------------------------------------------------------------

    async def _call(self, request: Method) -> Any:
        promise = self._promise()
        self._channel.call(request, promise)
        return await self._answer(promise)

    async def _answer(self, promise: asyncio.Future[Any]) -> Any:
        """Wait for the answer. A caller that gives up closes the channel: a late answer would be
        taken for another call's."""
        try:
            return await promise
        except asyncio.CancelledError:
            self._channel.close()
            raise

    def _promise(self) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().create_future()


class NativeTransactionalChannel(NativeAsyncChannel):
    """A :class:`mqkit.transport.seam.TransactionalChannel`. Get one from a connection."""

    async def select(self) -> None:
        """Begin the first transaction. Called once, by the connection."""
        self._channel.returned = []
        await self._call(methods.TxSelect())

    async def commit(self) -> list[Message]:
        """See :meth:`mqkit.transport.seam.TransactionalChannel.commit`."""
        await self._call(methods.TxCommit())
        returned, self._channel.returned = self._channel.returned, []
        return returned or []


def _resolve(
    futures: Sequence[asyncio.Future[Outcome]], position: int, outcomes: Sequence[Outcome]
) -> None:
    settled = futures[position : position + len(outcomes)]
    for future, outcome in zip(settled, outcomes, strict=True):
        if not future.done():
            future.set_result(outcome)
