"""One small face over pika's and aio-pika's own operations, so that one test drives both.

Nothing of mqkit's client is used here: these tests say that clients which know only RabbitMQ are
served alike by either broker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import aio_pika
import aiormq
import pika
import pytest
from aio_pika.abc import AbstractIncomingMessage

T = TypeVar("T")
WAIT_S = 10.0


class Refused(Exception):
    """The broker closed the channel or the connection."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code
        self.text = text


@dataclass(frozen=True)
class Got:
    """A message as a test wants to see it."""

    body: bytes
    tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    headers: dict[str, Any]
    expiration: str | None
    message_id: str | None


class Inbox(Protocol):
    """The messages that a consumer has received."""

    tag: str

    def next(self, wait_s: float = WAIT_S) -> Got:
        """The next delivery; fails the test when none comes in time."""
        ...

    def empty(self) -> bool:
        """Nothing is waiting. Only says something after a round trip to the broker."""
        ...


class Channel(Protocol):
    """The operations of a channel that the tests use. Every refusal raises :exc:`Refused`."""

    def declare_exchange(self, name: str, kind: str, **options: Any) -> None: ...
    def delete_exchange(self, name: str) -> None: ...
    def declare_queue(self, name: str = "", **options: Any) -> tuple[str, int, int]: ...
    def delete_queue(self, name: str, **options: Any) -> None: ...
    def purge(self, name: str) -> int: ...
    def bind(self, queue: str, exchange: str, key: str = "", arguments: Any = None) -> None: ...
    def unbind(self, queue: str, exchange: str, key: str = "") -> None: ...
    def bind_exchange(self, destination: str, source: str, key: str = "") -> None: ...
    def publish(self, exchange: str, key: str, body: bytes, **properties: Any) -> str:
        """'acked', 'nacked' or 'returned' (mandatory, persistent, on a confirm channel)."""
        ...

    def get(self, queue: str, *, no_ack: bool = False) -> Got | None: ...
    def consume(self, queue: str, **options: Any) -> Inbox: ...
    def cancel(self, inbox: Inbox) -> None: ...
    def qos(self, count: int, *, per_channel: bool = False) -> None: ...
    def ack(self, tag: int, *, multiple: bool = False) -> None: ...
    def nack(self, tag: int, *, multiple: bool = False, requeue: bool = True) -> None: ...
    def reject(self, tag: int, *, requeue: bool = True) -> None: ...
    def close(self) -> None: ...


class PikaInbox:
    def __init__(self, connection: pika.BlockingConnection) -> None:
        self.tag = ""
        self.deliveries: list[Got] = []
        self._connection = connection

    def next(self, wait_s: float = WAIT_S) -> Got:
        deadline = time.monotonic() + wait_s
        while not self.deliveries:
            assert time.monotonic() < deadline, "no delivery in time"
            self._connection.process_data_events(time_limit=0.05)
        return self.deliveries.pop(0)

    def empty(self) -> bool:
        self._connection.process_data_events(time_limit=0)
        return not self.deliveries


class PikaChannel:
    library = "pika"

    def __init__(self, connection: pika.BlockingConnection) -> None:
        self._connection = connection
        self._channel = connection.channel()
        self._channel.confirm_delivery()

    def _call(self, operation: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        try:
            return operation(*args, **kwargs)
        except (pika.exceptions.ChannelClosed, pika.exceptions.ConnectionClosed) as refusal:
            raise Refused(refusal.reply_code, refusal.reply_text) from refusal

    def declare_exchange(self, name: str, kind: str, **options: Any) -> None:
        self._call(self._channel.exchange_declare, name, kind, **options)

    def delete_exchange(self, name: str) -> None:
        self._call(self._channel.exchange_delete, name)

    def declare_queue(self, name: str = "", **options: Any) -> tuple[str, int, int]:
        answer = self._call(self._channel.queue_declare, name, **options).method
        return answer.queue, answer.message_count, answer.consumer_count

    def delete_queue(self, name: str, **options: Any) -> None:
        self._call(self._channel.queue_delete, name, **options)

    def purge(self, name: str) -> int:
        return int(self._call(self._channel.queue_purge, name).method.message_count)

    def bind(self, queue: str, exchange: str, key: str = "", arguments: Any = None) -> None:
        self._call(self._channel.queue_bind, queue, exchange, key, arguments=arguments)

    def unbind(self, queue: str, exchange: str, key: str = "") -> None:
        self._call(self._channel.queue_unbind, queue, exchange, key)

    def bind_exchange(self, destination: str, source: str, key: str = "") -> None:
        self._call(self._channel.exchange_bind, destination, source, key)

    def publish(self, exchange: str, key: str, body: bytes, **properties: Any) -> str:
        try:
            self._call(
                self._channel.basic_publish,
                exchange,
                key,
                body,
                pika.BasicProperties(**{"delivery_mode": 2, **properties}),
                mandatory=True,
            )
        except pika.exceptions.UnroutableError:
            return "returned"
        except pika.exceptions.NackError:
            return "nacked"
        return "acked"

    def get(self, queue: str, *, no_ack: bool = False) -> Got | None:
        method, properties, body = self._call(self._channel.basic_get, queue, no_ack)
        return None if method is None else self._got(method, properties, body)

    def consume(self, queue: str, **options: Any) -> Inbox:
        inbox = PikaInbox(self._connection)

        def arrived(_channel: Any, method: Any, properties: Any, body: bytes) -> None:
            inbox.deliveries.append(self._got(method, properties, body))

        options["auto_ack"] = options.pop("no_ack", False)
        inbox.tag = self._call(self._channel.basic_consume, queue, arrived, **options)
        return inbox

    def cancel(self, inbox: Inbox) -> None:
        self._call(self._channel.basic_cancel, inbox.tag)

    def qos(self, count: int, *, per_channel: bool = False) -> None:
        self._call(self._channel.basic_qos, prefetch_count=count, global_qos=per_channel)

    def ack(self, tag: int, *, multiple: bool = False) -> None:
        self._call(self._channel.basic_ack, tag, multiple)

    def nack(self, tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        self._call(self._channel.basic_nack, tag, multiple, requeue)

    def reject(self, tag: int, *, requeue: bool = True) -> None:
        self._call(self._channel.basic_reject, tag, requeue)

    def close(self) -> None:
        if self._channel.is_open:
            self._channel.close()

    @staticmethod
    def _got(method: Any, properties: Any, body: bytes) -> Got:
        return Got(
            body,
            method.delivery_tag,
            method.redelivered,
            method.exchange,
            method.routing_key,
            properties.headers or {},
            properties.expiration,
            properties.message_id,
        )


class AioPikaInbox:
    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.tag = ""
        self.deliveries: asyncio.Queue[Got] = asyncio.Queue()
        self.source: Any = None
        self._run = run

    def next(self, wait_s: float = WAIT_S) -> Got:
        got: Got = self._run(asyncio.wait_for(self.deliveries.get(), wait_s))
        return got

    def empty(self) -> bool:
        self._run(asyncio.sleep(0))
        return self.deliveries.empty()


class AioPikaChannel:
    library = "aio-pika"

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], connection: Any) -> None:
        self._run = run
        self._channel: Any = run(_open(connection))
        self._messages: dict[int, AbstractIncomingMessage] = {}

    def _call(self, operation: Coroutine[Any, Any, T]) -> T:
        try:
            result: T = self._run(asyncio.wait_for(operation, WAIT_S))
            return result
        except (
            aiormq.exceptions.ChannelClosed,
            aiormq.exceptions.ConnectionClosed,
        ) as refusal:
            code, _, text = str(refusal.args[-1] if refusal.args else refusal).partition(" ")
            raise Refused(int(getattr(refusal, "code", 0) or 0), f"{code} {text}") from refusal

    def declare_exchange(self, name: str, kind: str, **options: Any) -> None:
        self._call(self._channel.declare_exchange(name, kind, **options))

    def delete_exchange(self, name: str) -> None:
        self._call(self._channel.exchange_delete(name))

    def declare_queue(self, name: str = "", **options: Any) -> tuple[str, int, int]:
        declared = self._call(self._channel.declare_queue(name or None, **options))
        result = declared.declaration_result
        return declared.name, result.message_count, result.consumer_count

    def delete_queue(self, name: str, **options: Any) -> None:
        self._call(self._channel.queue_delete(name, **options))

    def purge(self, name: str) -> int:
        return int(self._call(self._queue(name).purge()).message_count)

    def bind(self, queue: str, exchange: str, key: str = "", arguments: Any = None) -> None:
        self._call(self._queue(queue).bind(exchange, key, arguments=arguments))

    def unbind(self, queue: str, exchange: str, key: str = "") -> None:
        self._call(self._queue(queue).unbind(exchange, key))

    def bind_exchange(self, destination: str, source: str, key: str = "") -> None:
        self._call(self._exchange(destination).bind(source, key))

    def publish(self, exchange: str, key: str, body: bytes, **properties: Any) -> str:
        message = aio_pika.Message(body, **{"delivery_mode": 2, **_in_their_units(properties)})
        target = self._exchange(exchange) if exchange else self._channel.default_exchange
        try:
            self._call(target.publish(message, key, mandatory=True))
        except aio_pika.exceptions.PublishError:
            return "returned"
        except aio_pika.exceptions.DeliveryError:
            return "nacked"
        return "acked"

    def get(self, queue: str, *, no_ack: bool = False) -> Got | None:
        message = self._call(self._queue(queue).get(no_ack=no_ack, fail=False))
        return None if message is None else self._got(message)

    def consume(self, queue: str, **options: Any) -> Inbox:
        inbox = AioPikaInbox(self._run)

        async def arrived(message: AbstractIncomingMessage) -> None:
            inbox.deliveries.put_nowait(self._got(message))

        inbox.source = self._queue(queue)
        inbox.tag = self._call(inbox.source.consume(arrived, **options))
        return inbox

    def cancel(self, inbox: Inbox) -> None:
        assert isinstance(inbox, AioPikaInbox)
        self._call(inbox.source.cancel(inbox.tag))

    def qos(self, count: int, *, per_channel: bool = False) -> None:
        self._call(self._channel.set_qos(prefetch_count=count, global_=per_channel))

    def ack(self, tag: int, *, multiple: bool = False) -> None:
        self._call(self._messages[tag].ack(multiple=multiple))

    def nack(self, tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        self._call(self._messages[tag].nack(multiple=multiple, requeue=requeue))

    def reject(self, tag: int, *, requeue: bool = True) -> None:
        self._call(self._messages[tag].reject(requeue=requeue))

    def close(self) -> None:
        if not self._channel.is_closed:
            self._run(self._channel.close())

    def _queue(self, name: str) -> Any:
        return aio_pika.Queue(self._channel, name, False, False, False, None)

    def _exchange(self, name: str) -> Any:
        return aio_pika.Exchange(self._channel, name)

    def _got(self, message: AbstractIncomingMessage) -> Got:
        tag = message.delivery_tag or 0
        self._messages[tag] = message
        expiration = message.expiration
        return Got(
            message.body,
            tag,
            bool(message.redelivered),
            message.exchange or "",
            message.routing_key or "",
            dict(message.headers),
            None if expiration is None else str(round(float(str(expiration)) * 1000)),
            message.message_id,
        )


async def _open(connection: Any) -> Any:
    return await connection.channel(publisher_confirms=True, on_return_raises=True)


def _in_their_units(properties: dict[str, Any]) -> dict[str, Any]:
    """aio-pika takes an expiration in seconds, and puts milliseconds on the wire."""
    if "expiration" in properties:
        return {**properties, "expiration": int(properties["expiration"]) / 1000}
    return properties


OpenChannel = Callable[[], Channel]


@pytest.fixture(params=["pika", "aio-pika"])
def connect(request: pytest.FixtureRequest, broker: Any) -> Iterator[Callable[[], OpenChannel]]:
    """Opens connections with the library; each answer opens channels on its connection."""
    closing: list[Callable[[], object]] = []
    if request.param == "pika":

        def with_pika() -> OpenChannel:
            connection = pika.BlockingConnection(pika.URLParameters(broker.url))
            closing.append(lambda: connection.close() if connection.is_open else None)
            return lambda: PikaChannel(connection)

        opener = with_pika
    else:
        loop = asyncio.new_event_loop()
        run = loop.run_until_complete

        def with_aio_pika() -> OpenChannel:
            connection = run(aio_pika.connect(broker.url))
            closing.append(lambda: run(connection.close()))
            return lambda: AioPikaChannel(run, connection)

        closing.append(loop.close)
        opener = with_aio_pika
    yield opener
    while closing:
        closing.pop()()


@pytest.fixture
def open_channel(connect: Callable[[], OpenChannel]) -> OpenChannel:
    """Channels on one connection."""
    return connect()


@pytest.fixture
def channel(open_channel: OpenChannel) -> Channel:
    """One channel."""
    return open_channel()
