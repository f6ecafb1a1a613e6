"""The conformance suite of all adapters, against a real broker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import (
    ChannelError,
    ConnectionLost,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    StaleDelivery,
    Unreachable,
)
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.testing.proxy import FaultyProxy
from mqkit.transport.seam import Channel, Connection, Credentials, Endpoint, Transport
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 10.0
PIKA_KEEPS_NO_IDS = (0, 0)
"""pika's exceptions have the broker's code and text, and nothing else."""


def to(queue: str, body: bytes = b"x", **properties: object) -> Message:
    return Message("", queue, body, Properties(**properties))  # type: ignore[arg-type]


async def publish(channel: Channel, *messages: Message) -> list[Outcome]:
    async with asyncio.timeout(WAIT_S):
        return await asyncio.gather(*await channel.publish_many(messages))


async def take(deliveries: asyncio.Queue[Delivery], count: int) -> list[Delivery]:
    async with asyncio.timeout(WAIT_S):
        return [await deliveries.get() for _ in range(count)]


class Closing:
    """Waits for an ``on_closed`` callback."""

    def __init__(self) -> None:
        self._error: asyncio.Future[MqkitError | None] = asyncio.get_running_loop().create_future()

    def __call__(self, error: MqkitError | None) -> None:
        self._error.set_result(error)

    async def error(self) -> MqkitError | None:
        async with asyncio.timeout(WAIT_S):
            return await self._error


# -- connecting ------------------------------------------------------------------------------


async def test_connecting_tells_what_the_broker_is(connection: Connection) -> None:
    assert connection.is_open
    assert connection.server_properties["product"]
    assert isinstance(connection.server_properties["capabilities"], dict)


async def test_a_wrong_password_is_refused(transport: Transport, broker_url: str) -> None:
    endpoint = replace(parse(broker_url), credentials=Credentials("guest", "s3cret"))
    with pytest.raises(ConnectionRefused) as refused:
        await transport.connect(endpoint, name="t", timeout_s=WAIT_S)
    assert refused.value.reply_code == 403
    assert "s3cret" not in str(refused.value)


async def test_an_unknown_vhost_is_refused(
    transport: Transport, broker_url: str, name: str
) -> None:
    with pytest.raises(ConnectionRefused) as refused:
        await transport.connect(replace(parse(broker_url), vhost=name), name="t", timeout_s=WAIT_S)
    assert refused.value.reply_code == 530


async def test_a_port_where_nobody_listens_is_unreachable(transport: Transport) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(Unreachable, match=str(port)):
        await transport.connect(Endpoint(port=port), name="t", timeout_s=WAIT_S)


async def test_a_host_that_never_answers_exceeds_the_deadline(transport: Transport) -> None:
    sockets: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, w: sockets.append(w), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DeadlineExceeded):
            await transport.connect(Endpoint(port=port), name="t", timeout_s=0.2)
        for socket in sockets:
            socket.close()


async def test_a_host_that_speaks_something_else_is_unreachable(transport: Transport) -> None:
    async def speak_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(speak_http, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="does not speak AMQP"):
            await transport.connect(Endpoint(port=port), name="t", timeout_s=WAIT_S)


# -- declaring -------------------------------------------------------------------------------


async def test_declaring_again_the_same_is_harmless_and_counts_messages(
    channel: Channel, queue: str
) -> None:
    await publish(channel, to(queue), to(queue))
    state = await channel.declare_queue(Queue(queue, durable=False, exclusive=True))
    assert (state.name, state.message_count, state.consumer_count) == (queue, 2, 0)


async def test_an_empty_queue_name_asks_the_broker_for_one(channel: Channel) -> None:
    first = await channel.declare_queue(Queue("", durable=False, exclusive=True))
    second = await channel.declare_queue(Queue("", durable=False, exclusive=True))
    assert first.name
    assert first.name != second.name


async def test_declaring_otherwise_closes_the_channel_with_406(
    connection: Connection, channel: Channel, queue: str
) -> None:
    closing = Closing()
    channel.on_closed(closing)
    with pytest.raises(ChannelError) as refused:
        await channel.declare_queue(
            Queue(queue, durable=False, exclusive=True, arguments={"x-max-length": 5})
        )
    assert refused.value.reply_code == 406
    assert (refused.value.class_id, refused.value.method_id) in ((50, 10), PIKA_KEEPS_NO_IDS)
    assert "x-max-length" in refused.value.reply_text
    assert not channel.is_open
    assert await closing.error() is refused.value
    with pytest.raises(ChannelError):
        await channel.purge(queue)
    assert (await connection.channel()).is_open


async def test_a_passive_declaration_of_nothing_is_404(channel: Channel, name: str) -> None:
    with pytest.raises(ChannelError) as refused:
        await channel.declare_exchange(Exchange(name), passive=True)
    assert refused.value.reply_code == 404


async def test_purging_and_deleting_say_how_many(channel: Channel, queue: str) -> None:
    await publish(channel, to(queue), to(queue), to(queue))
    assert await channel.purge(queue) == 3
    await publish(channel, to(queue))
    assert await channel.delete_queue(queue) == 1


async def test_messages_follow_bindings_until_these_are_gone(
    channel: Channel, queue: str, name: str
) -> None:
    await channel.declare_exchange(Exchange(f"{name}-a", "topic", durable=False))
    await channel.declare_exchange(Exchange(f"{name}-b", "fanout", durable=False))
    to_exchange = Binding(f"{name}-a", f"{name}-b", "late.#", to_exchange=True)
    to_queue = Binding(f"{name}-b", queue)
    try:
        await channel.bind(to_exchange)
        await channel.bind(to_queue)
        message = Message(f"{name}-a", "late.today", b"1")
        assert (await publish(channel, message)) == [Confirmed()]
        await channel.unbind(to_queue)
        await channel.bind(to_queue)
        await channel.unbind(to_exchange)
        [outcome] = await publish(channel, message)
        assert isinstance(outcome, Rejected)
        assert (await channel.get(queue, no_ack=True)) is not None
        assert (await channel.get(queue, no_ack=True)) is None
    finally:
        await channel.delete_exchange(f"{name}-a")
        await channel.delete_exchange(f"{name}-b")


@pytest.mark.parametrize(
    "bad",
    [
        Message("", "k" * 256, b""),
        *(
            Message("", "k", b"", Properties(headers={"h": value}))
            for value in (object(), math.nan, [{"deep": -math.inf}], Decimal("NaN"), 2**64)
        ),
    ],
    ids=["long key", "strange header", "NaN", "deep infinity", "decimal NaN", "65 bits"],
)
async def test_what_amqp_cant_carry_is_never_sent_and_closes_nothing(
    channel: Channel, queue: str, bad: Message
) -> None:
    first, outcome, last = await publish(channel, to(queue), bad, to(queue))
    assert isinstance(outcome, Rejected)
    assert outcome.reason is RejectReason.REFUSED
    assert first == last == Confirmed()
    assert channel.is_open


# -- what travels ----------------------------------------------------------------------------


async def test_every_property_arrives_as_it_was_sent(channel: Channel, queue: str) -> None:
    properties = Properties(
        content_type="text/plain",
        content_encoding="utf-8",
        headers={
            "text": "Grüße",
            "int": 7,
            "big": 2**40,
            "negative": -5,
            "bool": True,
            "none": None,
            "bytes": b"\x00\xff",
            "list": [1, "two", {"three": 3}],
            "table": {"deep": {"deeper": "deepest"}},
            "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        },
        persistent=False,
        priority=3,
        correlation_id="c",
        reply_to="r",
        expiration_ms=60_000,
        message_id="m",
        timestamp=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        type="t",
        user_id="guest",
        app_id="a",
    )
    assert await publish(channel, Message("", queue, b"body", properties)) == [Confirmed("m")]
    delivery = await channel.get(queue)
    assert delivery is not None
    assert delivery.properties == properties
    assert (delivery.exchange, delivery.routing_key, delivery.body) == ("", queue, b"body")
    assert not delivery.redelivered


async def test_a_float_in_the_headers_keeps_its_64_bits_or_is_refused(
    request: pytest.FixtureRequest, channel: Channel, queue: str
) -> None:
    (outcome,) = await publish(channel, to(queue, headers={"float": 0.1}))
    delivery = await channel.get(queue)
    if "[pika" in request.node.name:  # pika can't encode a float: it must not send half of one
        assert isinstance(outcome, Rejected)
        assert (outcome.reason, delivery) == (RejectReason.REFUSED, None)
    else:
        assert delivery is not None
        assert delivery.headers == {"float": 0.1}


async def test_a_message_is_persistent_and_without_properties_by_default(
    channel: Channel, queue: str
) -> None:
    await publish(channel, to(queue))
    delivery = await channel.get(queue)
    assert delivery is not None
    assert delivery.properties == Properties(persistent=True)


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 400_000])
async def test_bodies_of_any_size_arrive_whole(channel: Channel, queue: str, size: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    await publish(channel, to(queue, body[:size]))
    delivery = await channel.get(queue)
    assert delivery is not None
    assert delivery.body == body[:size]


# -- publishing ------------------------------------------------------------------------------


async def test_each_publish_has_its_own_outcome(channel: Channel, queue: str, name: str) -> None:
    lost = f"{name}-nowhere"
    outcomes = await publish(
        channel,
        to(queue, message_id="1"),
        to(lost, message_id="2"),
        replace(to(lost, message_id="3"), mandatory=False),
        to(queue, message_id="4"),
    )
    assert [type(outcome) for outcome in outcomes] == [Confirmed, Rejected, Confirmed, Confirmed]
    assert [outcome.message_id for outcome in outcomes] == ["1", "2", "3", "4"]
    assert isinstance(outcomes[1], Rejected)
    assert outcomes[1].reason is RejectReason.UNROUTABLE


async def test_returns_find_their_publish_though_all_have_the_same_message_id(
    channel: Channel, queue: str, name: str
) -> None:
    keys = [queue if number % 3 else f"{name}-nowhere" for number in range(300)]
    messages = [
        to(key, str(number % 7).encode(), message_id="same") for number, key in enumerate(keys)
    ]
    outcomes = await publish(channel, *messages)
    assert [bool(outcome) for outcome in outcomes] == [key == queue for key in keys]


async def test_a_full_queue_nacks(channel: Channel, name: str) -> None:
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    await channel.declare_queue(Queue(name, durable=False, exclusive=True, arguments=arguments))
    outcomes = await publish(channel, *(to(name) for _ in range(20)))
    assert outcomes[0] == Confirmed()
    nacked = outcomes[-1]
    assert isinstance(nacked, Rejected)
    assert nacked.reason is RejectReason.NACKED


async def test_an_unknown_exchange_rejects_its_message_only(
    connection: Connection, channel: Channel, queue: str, name: str
) -> None:
    closing = Closing()
    channel.on_closed(closing)
    messages = [to(queue), Message(name, "k", b"x", Properties(message_id="lost"))]
    first, lost = await publish(channel, *messages)
    assert isinstance(first, (Confirmed, Unknown))
    assert isinstance(lost, Rejected)
    assert (lost.reason, lost.message_id) == (RejectReason.NO_EXCHANGE, "lost")
    error = await closing.error()
    assert isinstance(error, ChannelError)
    assert error.reply_code == 404
    assert (error.class_id, error.method_id) in ((60, 40), PIKA_KEEPS_NO_IDS)
    [after] = await publish(channel, to(queue))
    assert isinstance(after, Unknown)


async def test_without_confirms_the_outcome_is_unknown(connection: Connection, queue: str) -> None:
    plain = await connection.channel()
    [outcome] = await publish(plain, to(queue, message_id="m"))
    assert isinstance(outcome, Unknown)
    assert outcome.message_id == "m"


async def test_thousands_in_flight_are_all_confirmed_and_keep_their_order(
    channel: Channel, queue: str
) -> None:
    count = 3000
    outcomes = await publish(channel, *(to(queue, str(n).encode()) for n in range(count)))
    assert all(outcomes)
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    await channel.consume(queue, arrived.put_nowait, no_ack=True)
    bodies = [delivery.body for delivery in await take(arrived, count)]
    assert bodies == [str(n).encode() for n in range(count)]


# -- consuming -------------------------------------------------------------------------------


async def _consume(
    connection: Connection, queue: str, bodies: Sequence[bytes], prefetch: int
) -> tuple[Channel, asyncio.Queue[Delivery], str]:
    publishing = await connection.channel(confirms=True)
    await publish(publishing, *(to(queue, body) for body in bodies))
    consuming = await connection.channel()
    await consuming.qos(prefetch)
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    tag = await consuming.consume(queue, arrived.put_nowait)
    return consuming, arrived, tag


async def test_prefetch_bounds_what_arrives_unacked(connection: Connection, queue: str) -> None:
    consuming, arrived, tag = await _consume(connection, queue, [b"1", b"2", b"3", b"4"], 2)
    first, second = await take(arrived, 2)
    assert (first.body, first.consumer_tag, first.redelivered) == (b"1", tag, False)
    assert await consuming.declare_queue(Queue(queue), passive=True)  # a round trip later
    assert arrived.empty()
    await consuming.ack(second.delivery_tag, multiple=True)
    assert [delivery.body for delivery in await take(arrived, 2)] == [b"3", b"4"]


async def test_a_requeued_delivery_comes_again_and_says_so(
    connection: Connection, queue: str
) -> None:
    consuming, arrived, _ = await _consume(connection, queue, [b"1"], 1)
    [first] = await take(arrived, 1)
    await consuming.nack(first.delivery_tag)
    [again] = await take(arrived, 1)
    assert (again.body, again.redelivered) == (b"1", True)
    await consuming.nack(again.delivery_tag, requeue=False)
    assert await consuming.purge(queue) == 0


async def test_a_cancelled_consumer_gets_nothing_more(connection: Connection, queue: str) -> None:
    consuming, arrived, tag = await _consume(connection, queue, [b"1"], 10)
    [first] = await take(arrived, 1)
    await consuming.cancel(tag)
    publishing = await connection.channel(confirms=True)
    await publish(publishing, to(queue, b"2"))
    await consuming.ack(first.delivery_tag)
    left = await consuming.get(queue, no_ack=True)
    assert left is not None
    assert left.body == b"2"
    assert arrived.empty()


async def test_a_consumer_hears_that_its_queue_is_gone(connection: Connection, queue: str) -> None:
    consuming = await connection.channel()
    cancelled: asyncio.Queue[str] = asyncio.Queue()
    tag = await consuming.consume(queue, lambda _: None, on_cancel=cancelled.put_nowait)
    other = await connection.channel()
    await other.delete_queue(queue)
    async with asyncio.timeout(WAIT_S):
        assert await cancelled.get() == tag
    assert consuming.is_open


async def test_settling_on_a_closed_channel_is_stale_and_the_delivery_comes_again(
    connection: Connection, queue: str
) -> None:
    consuming, arrived, _ = await _consume(connection, queue, [b"1"], 1)
    [first] = await take(arrived, 1)
    await consuming.close()
    with pytest.raises(StaleDelivery):
        await consuming.ack(first.delivery_tag)
    with pytest.raises(StaleDelivery):
        await consuming.nack(first.delivery_tag)
    other = await connection.channel()
    again = await other.get(queue)
    assert again is not None
    assert again.redelivered


async def test_acking_what_was_never_delivered_closes_the_channel(connection: Connection) -> None:
    channel = await connection.channel()
    closing = Closing()
    channel.on_closed(closing)
    await channel.ack(99)
    error = await closing.error()
    assert isinstance(error, ChannelError)
    assert error.reply_code == 406


# -- ends ------------------------------------------------------------------------------------


async def test_closing_is_idempotent_and_no_error(connection: Connection) -> None:
    channel = await connection.channel(confirms=True)
    channel_closing, connection_closing = Closing(), Closing()
    channel.on_closed(channel_closing)
    connection.on_closed(connection_closing)
    await channel.close()
    await channel.close()
    assert await channel_closing.error() is None
    await connection.close()
    await connection.close()
    assert await connection_closing.error() is None
    assert not connection.is_open
    late = Closing()
    connection.on_closed(late)
    assert await late.error() is None


async def test_a_cut_connection_ends_everything_on_it(
    transport: Transport, proxy: FaultyProxy, name: str
) -> None:
    connection = await transport.connect(parse(proxy.url), name="t", timeout_s=WAIT_S)
    channel = await connection.channel(confirms=True)
    await channel.declare_queue(Queue(name, durable=False, exclusive=True))
    connection_closing, channel_closing = Closing(), Closing()
    connection.on_closed(connection_closing)
    channel.on_closed(channel_closing)
    proxy.cut_before_confirm()
    outcomes = await publish(channel, to(name, message_id="a"), to(name, message_id="b"))
    assert [type(outcome) for outcome in outcomes] == [Unknown, Unknown]
    assert [outcome.message_id for outcome in outcomes] == ["a", "b"]
    assert isinstance(await connection_closing.error(), ConnectionLost)
    assert isinstance(await channel_closing.error(), ConnectionLost)
    assert not connection.is_open
    with pytest.raises(ConnectionLost):
        await channel.purge(name)
    with pytest.raises(ConnectionLost):
        await connection.channel()
    await connection.close()


async def test_a_call_that_waits_for_an_answer_ends_with_the_connection(
    transport: Transport, proxy: FaultyProxy, name: str
) -> None:
    connection = await transport.connect(parse(proxy.url), name="t", timeout_s=WAIT_S)
    channel = await connection.channel()
    proxy.stall()
    waiting = asyncio.create_task(channel.declare_queue(Queue(name, exclusive=True)))
    await asyncio.to_thread(lambda: None)  # let it get as far as the socket
    proxy.cut()
    with pytest.raises(ConnectionLost):
        async with asyncio.timeout(WAIT_S):
            await waiting
    await connection.close()


async def test_blocking_is_heard_and_unblocking_too(
    transport: Transport, proxy: FaultyProxy
) -> None:
    connection = await transport.connect(parse(proxy.url), name="t", timeout_s=WAIT_S)
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    connection.on_blocked(heard.put_nowait)
    proxy.block("low on disk")
    async with asyncio.timeout(WAIT_S):
        assert await heard.get() == "low on disk"
        proxy.unblock()
        assert await heard.get() is None
    await connection.close()


async def test_names_may_be_any_text_that_the_broker_takes(channel: Channel, name: str) -> None:
    exchange, queue = Exchange(f"{name} für|alles*", auto_delete=True), f"{name} (spät)"
    await channel.declare_queue(Queue(queue, durable=False, exclusive=True))
    await channel.declare_exchange(exchange)
    await channel.bind(Binding(exchange.name, queue, "schlüssel"))

    assert await publish(channel, Message(exchange.name, "schlüssel", b"x")) == [Confirmed(None)]

    deliveries: asyncio.Queue[Delivery] = asyncio.Queue()
    await channel.consume(queue, deliveries.put_nowait, consumer_tag="späher")
    [delivery] = await take(deliveries, 1)
    assert (delivery.exchange, delivery.consumer_tag) == (exchange.name, "späher")
