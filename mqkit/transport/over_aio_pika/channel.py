"""The channel of the seam, on the frames of an aiormq connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from aiormq import spec
from aiormq.abc import AbstractConnection
from pamqp.base import Frame

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.errors import ConfigurationError, MqkitError, StaleDelivery
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.confirms import ConfirmLedger, Settled
from mqkit.transport.over_aio_pika.content import Assembly, content_frames
from mqkit.transport.over_aio_pika.frames import FrameChannel, State
from mqkit.transport.seam import OnCancel, OnClosed, OnDelivery
from mqkit.wire import methods
from mqkit.wire.methods import Method

_LOG = logging.getLogger(__name__)

WRITE_OCTETS = 128 * 1024
"""Publishes are written in pieces of about this size: twice asyncio's high-water mark, so that one
piece fills the socket's buffer and the next one waits for it to empty."""


_Writable: TypeAlias = tuple[Message, asyncio.Future[Outcome]]


class _Consumer(NamedTuple):
    on_delivery: OnDelivery
    on_cancel: OnCancel | None


class AioPikaChannel:
    """A :class:`mqkit.transport.seam.Channel`. Get one from a connection."""

    def __init__(self, connection: AbstractConnection, *, confirms: bool) -> None:
        self._frames = FrameChannel(connection, self)
        self._confirms = confirms
        self._answers_cancel = _accepts_cancel_ok(connection)
        self._ledger: ConfirmLedger[list[asyncio.Future[Outcome]]] = ConfirmLedger()
        self._consumers: dict[str, _Consumer] = {}
        self._tags = count(1)
        self._quiescence: list[asyncio.Future[None]] = []
        self._on_closed: list[OnClosed] = []
        self._closing_error: MqkitError | None = None

    async def open(self) -> None:
        """Open it at the broker. Called once, by the connection."""
        await self._frames.open(confirms=self._confirms)

    @property
    def is_open(self) -> bool:
        return self._frames.state is State.OPEN

    @property
    def unconfirmed(self) -> int:
        return len(self._ledger)

    async def wait_quiescent(self) -> None:
        if self.unconfirmed:
            quiet: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._quiescence.append(quiet)
            await quiet

    # -- declaring ---------------------------------------------------------------------------

    async def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        await self._rpc(
            methods.ExchangeDeclare(
                exchange=exchange.name,
                type=exchange.type,
                passive=passive,
                durable=exchange.durable,
                auto_delete=exchange.auto_delete,
                internal=exchange.internal,
                arguments=dict(exchange.arguments),
            )
        )

    async def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        answer = await self._rpc(
            methods.QueueDeclare(
                queue=queue.name,
                passive=passive,
                durable=queue.durable,
                exclusive=queue.exclusive,
                auto_delete=queue.auto_delete,
                arguments=dict(queue.arguments),
            )
        )
        assert isinstance(answer, spec.Queue.DeclareOk)
        return QueueState(
            answer.queue or queue.name, answer.message_count or 0, answer.consumer_count or 0
        )

    async def bind(self, binding: Binding) -> None:
        to_exchange = binding.to_exchange
        method = methods.ExchangeBind if to_exchange else methods.QueueBind
        await self._rpc(_of_binding(method, binding))

    async def unbind(self, binding: Binding) -> None:
        to_exchange = binding.to_exchange
        method = methods.ExchangeUnbind if to_exchange else methods.QueueUnbind
        await self._rpc(_of_binding(method, binding))

    async def delete_exchange(self, name: str, *, if_unused: bool = False) -> None:
        await self._rpc(methods.ExchangeDelete(exchange=name, if_unused=if_unused))

    async def delete_queue(
        self, name: str, *, if_unused: bool = False, if_empty: bool = False
    ) -> int:
        answer = await self._rpc(
            methods.QueueDelete(queue=name, if_unused=if_unused, if_empty=if_empty)
        )
        assert isinstance(answer, spec.Queue.DeleteOk)
        return answer.message_count or 0

    async def purge(self, queue: str) -> int:
        answer = await self._rpc(methods.QueuePurge(queue=queue))
        assert isinstance(answer, spec.Queue.PurgeOk)
        return answer.message_count or 0

    async def _rpc(self, request: Method) -> Frame | Assembly:
        answer: Frame | Assembly = await self._frames.rpc(request)
        return answer

    # -- publishing --------------------------------------------------------------------------

    async def publish_many(self, messages: Sequence[Message]) -> list[asyncio.Future[Outcome]]:
        frames = self._frames
        futures, writable, contents = self._encoded(messages)
        written = 0
        async with frames.write_lock:
            for start, end in _pieces(contents):
                if not self.is_open:
                    break
                if self._confirms:
                    piece = writable[start:end]
                    self._ledger.record([each for each, _ in piece], [each for _, each in piece])
                written = end
                await frames.enqueue(b"".join(contents[start:end]))
        await frames.drained()
        if not self._confirms:
            _settle_all(writable[:written], "written without publisher confirms", sent=True)
        _settle_all(writable[written:], f"not sent: {frames.error}", sent=False)
        return futures

    def _encoded(
        self, messages: Sequence[Message]
    ) -> tuple[list[asyncio.Future[Outcome]], list[_Writable], list[bytes]]:
        """A future for each message; and what is to be written, with the octets of each."""
        new_future = asyncio.get_running_loop().create_future
        number, frame_octets_max = self._frames.number, self._frames.frame_octets_max
        futures: list[asyncio.Future[Outcome]] = [new_future() for _ in messages]
        writable: list[_Writable] = []
        contents: list[bytes] = []
        for message, future in zip(messages, futures, strict=True):
            try:
                contents.append(content_frames(message, number, frame_octets_max))
            except ConfigurationError as error:
                message_id = message.properties.message_id
                future.set_result(Rejected(RejectReason.REFUSED, f"not sent: {error}", message_id))
            else:
                writable.append((message, future))
        return futures, writable, contents

    # -- consuming ---------------------------------------------------------------------------

    async def qos(self, prefetch_count: int) -> None:
        await self._rpc(methods.BasicQos(prefetch_count=prefetch_count))

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        answer = await self._rpc(methods.BasicGet(queue=queue, no_ack=no_ack))
        return _delivery(answer) if isinstance(answer, Assembly) else None

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
        # The tag is chosen here: a delivery may arrive right behind consume-ok, before this
        # coroutine has had its turn to read the broker's choice.
        tag = consumer_tag or f"mqkit.{self._frames.number}.{next(self._tags)}"
        if tag in self._consumers:
            raise ConfigurationError(f"the channel has a consumer with the tag {tag!r} already")
        self._consumers[tag] = _Consumer(on_delivery, on_cancel)
        try:
            await self._rpc(
                methods.BasicConsume(
                    queue=queue,
                    consumer_tag=tag,
                    no_ack=no_ack,
                    exclusive=exclusive,
                    arguments=dict(arguments or {}),
                )
            )
        except BaseException:
            self._consumers.pop(tag, None)
            raise
        return tag

    async def cancel(self, consumer_tag: str) -> None:
        if consumer_tag in self._consumers:
            await self._rpc(methods.BasicCancel(consumer_tag=consumer_tag))
            self._consumers.pop(consumer_tag, None)

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        await self._settle(methods.BasicAck(delivery_tag=delivery_tag, multiple=multiple))

    async def nack(
        self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True
    ) -> None:
        await self._settle(
            methods.BasicNack(delivery_tag=delivery_tag, multiple=multiple, requeue=requeue)
        )

    async def _settle(self, method: Method) -> None:
        try:
            await self._frames.send(method)
        except MqkitError as error:
            raise StaleDelivery(f"the channel of the delivery is gone: {error}") from error

    # -- closing -----------------------------------------------------------------------------

    async def close(self) -> None:
        await self._frames.close()

    def on_closed(self, callback: OnClosed) -> None:
        if self._frames.state is State.CLOSED:
            callback(self._closing_error)
        else:
            self._on_closed.append(callback)

    def connection_closed(self, error: MqkitError | None) -> None:
        """The connection is gone, and the channel with it. Called by the connection."""
        self._frames.finish(error, connection_gone=True)

    # -- what the frames tell ----------------------------------------------------------------

    def event_received(self, frame: Frame) -> None:
        """An ack or nack of a publish, or the broker cancelled a consumer."""
        if isinstance(frame, spec.Basic.Ack):
            self._settled(self._ledger.ack(frame.delivery_tag or 0, multiple=frame.multiple))
        elif isinstance(frame, spec.Basic.Nack):
            self._settled(self._ledger.nack(frame.delivery_tag or 0, multiple=frame.multiple))
        elif isinstance(frame, spec.Basic.Cancel):
            self._consumer_cancelled(frame.consumer_tag or "")

    def content_received(self, content: Assembly) -> None:
        """A delivery, or a message that came back."""
        method = content.method
        if isinstance(method, spec.Basic.Return):
            returned = Message(
                method.exchange or "", method.routing_key or "", content.body, content.properties
            )
            self._came_back(returned, method.reply_code or 0, method.reply_text or "")
            return
        assert isinstance(method, spec.Basic.Deliver)
        consumer = self._consumers.get(method.consumer_tag or "")
        if consumer is None:
            return
        try:
            consumer.on_delivery(_delivery(content))
        except Exception:  # noqa: BLE001 - one bad delivery must not end the connection's reader
            _LOG.exception("the callback of consumer %s failed", method.consumer_tag)

    def _came_back(self, returned: Message, reply_code: int, reply_text: str) -> None:
        self._ledger.returned(returned, reply_code, reply_text)

    def channel_closed(self, error: MqkitError | None) -> None:
        """The frames have stopped for good: settle what is open and tell everybody."""
        self._closing_error = error
        self._consumers.clear()
        self._settled(self._ledger.close(error))
        callbacks, self._on_closed = self._on_closed, []
        for callback in callbacks:
            callback(error)

    def _settled(self, settled: list[Settled[list[asyncio.Future[Outcome]]]]) -> None:
        for futures, position, outcomes in settled:
            answered = futures[position : position + len(outcomes)]
            for future, outcome in zip(answered, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)
        if self._quiescence and not self._ledger:
            waiters, self._quiescence = self._quiescence, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _consumer_cancelled(self, tag: str) -> None:
        consumer = self._consumers.pop(tag, None)
        if consumer is None:
            return
        if self._answers_cancel:
            self._frames.send_soon(methods.BasicCancelOk(consumer_tag=tag))
        if consumer.on_cancel is not None:
            consumer.on_cancel(tag)


class AioPikaTransactionalChannel(AioPikaChannel):
    """A :class:`mqkit.transport.seam.TransactionalChannel`. Get one from a connection."""

    def __init__(self, connection: AbstractConnection) -> None:
        super().__init__(connection, confirms=False)
        self._returned: list[Message] = []

    async def open(self) -> None:
        """Open it at the broker, and begin the first transaction."""
        await super().open()
        await self._rpc(methods.TxSelect())

    async def commit(self) -> list[Message]:
        """See :meth:`mqkit.transport.seam.TransactionalChannel.commit`."""
        await self._rpc(methods.TxCommit())
        returned, self._returned = self._returned, []
        return returned

    def _came_back(self, returned: Message, reply_code: int, reply_text: str) -> None:
        self._returned.append(returned)


def _of_binding(
    method: type[
        methods.QueueBind | methods.QueueUnbind | methods.ExchangeBind | methods.ExchangeUnbind
    ],
    binding: Binding,
) -> Method:
    """The four begin with the same fields, under two sets of names."""
    arguments = dict(binding.arguments)
    return method(binding.destination, binding.source, binding.key, arguments=arguments)


def _pieces(contents: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    start, octets = 0, 0
    for index, content in enumerate(contents):
        octets += len(content)
        if octets >= WRITE_OCTETS:
            yield start, index + 1
            start, octets = index + 1, 0
    if start < len(contents):
        yield start, len(contents)


def _settle_all(writable: Sequence[_Writable], detail: str, *, sent: bool) -> None:
    for message, future in writable:
        if not future.done():
            future.set_result(Unknown(detail, message.properties.message_id, sent))


def _delivery(content: Assembly) -> Delivery:
    method = content.method
    assert isinstance(method, (spec.Basic.Deliver, spec.Basic.GetOk))
    return Delivery(
        exchange=method.exchange or "",
        routing_key=method.routing_key or "",
        body=content.body,
        properties=content.properties,
        delivery_tag=method.delivery_tag or 0,
        redelivered=bool(method.redelivered),
        consumer_tag=getattr(method, "consumer_tag", "") or "",
    )


def _accepts_cancel_ok(connection: AbstractConnection) -> bool:
    """RabbitMQ 4.3.7 keeps a cancelled consumer's tag until the client answers; older brokers close
    the channel on an answer that they do not expect. The capability tells which."""
    capabilities = connection.server_properties.get("capabilities")
    return isinstance(capabilities, dict) and bool(capabilities.get("accept_consumer_cancel_ok"))
