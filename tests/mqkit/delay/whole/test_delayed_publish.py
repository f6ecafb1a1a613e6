"""Delayed publishes against brokers: they come late, under their own routing key, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias, cast

import pytest

from mqkit import App, ConfigurationError, Delivery, Settings
from mqkit.declaration import Queue
from mqkit.topology import Topology, compile_topology, loads
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


class Shop:
    """An exchange of which a queue takes ``order.*``, and what arrives there."""

    def __init__(self, broker: Any, name: str, exchange_keys: str) -> None:
        self.broker = broker
        self.exchange = f"{name}.orders"
        self.queue = f"{name}.paid"
        self.arrived: asyncio.Queue[Delivery] = asyncio.Queue()
        self.topology: Topology = loads(
            f"exchanges:\n  {self.exchange}: {exchange_keys}\n"
            f"queues:\n  {self.queue}: {{bind: [{{from: {self.exchange}, key: 'order.*'}}]}}\n"
        )

    def app(self, transport: str = "native") -> App:
        settings = Settings.load(urls=self.broker.url, transport=transport)
        app = App(topology=self.topology, settings=settings)

        @app.consumer(self.queue)
        async def handle(delivery: Delivery) -> None:
            self.arrived.put_nowait(delivery)

        return app

    async def next(self) -> Delivery:
        async with asyncio.timeout(WAIT_S):
            return await self.arrived.get()

    async def waiting(self, delay: str) -> int:
        """The number of messages in the queue of that delay."""
        connection = await self._connection()
        try:
            channel = await connection.channel()
            name = f"{self.exchange}.delay.{delay}"
            return (await channel.declare_queue(Queue(name), passive=True)).message_count
        finally:
            await connection.close()

    async def clean(self) -> None:
        connection = await self._connection()
        try:
            channel = await connection.channel()
            for item in compile_topology(self.topology):
                if isinstance(item, Queue):
                    await channel.delete_queue(item.name)
                elif (name := getattr(item, "name", "")) != "":
                    await channel.delete_exchange(name)
        finally:
            await connection.close()

    async def _connection(self) -> Connection:
        return await NativeTransport().connect(
            parse(self.broker.url), name="beside the test", timeout_s=WAIT_S
        )


OpenShop: TypeAlias = Callable[[Any, str], Shop]


@pytest.fixture
async def open_shop(unique: Callable[[str], str]) -> AsyncIterator[OpenShop]:
    shops: list[Shop] = []

    def opened(broker: Any, exchange_keys: str) -> Shop:
        shops.append(Shop(broker, unique("shop"), exchange_keys))
        return shops[-1]

    yield opened
    for shop in shops:
        await shop.clean()


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_listed_delay_arrives_with_its_own_routing_key_after_its_queue(
    broker: Any, open_shop: OpenShop, transport: str
) -> None:
    shop = open_shop(broker, "{type: topic, delays: [30ms, 1h]}")
    async with shop.app(transport) as app:
        assert await app.publish(
            shop.exchange, "order.paid", {"number": 7}, message_id="m7", delay="30ms"
        )
        delivery = await shop.next()
        assert (delivery.exchange, delivery.routing_key) == (shop.exchange, "order.paid")
        assert (delivery.body, delivery.message_id) == (b'{"number":7}', "m7")
        deaths = cast("list[dict[str, object]]", delivery.headers["x-death"])
        assert [(death["queue"], death["reason"]) for death in deaths] == [
            (f"{shop.exchange}.delay.30ms", "expired")
        ]


async def test_a_short_delay_does_not_wait_for_a_long_one_before_it(
    broker: Any, open_shop: OpenShop
) -> None:
    shop = open_shop(broker, "{type: topic, delays: [30ms, 1h]}")
    async with shop.app() as app:
        assert await app.publish(shop.exchange, "order.late", b"long", delay="1h")
        assert await app.publish(shop.exchange, "order.soon", b"short", delay="30ms")
        assert (await shop.next()).body == b"short"
        assert await shop.waiting("1h") == 1


async def test_a_batch_may_have_delays_of_each_kind(broker: Any, open_shop: OpenShop) -> None:
    shop = open_shop(broker, "{type: topic, delays: [30ms, 60ms]}")
    async with shop.app() as app:
        plain = app.message(shop.exchange, "order.paid", b"now")
        messages = [
            plain,
            *(app.delayed(app.message(shop.exchange, "order.paid", b"x"), d) for d in (0.03, 0.06)),
        ]
        assert all(await app.publish_batch(messages))
        assert sorted([(await shop.next()).body for _ in messages]) == [b"now", b"x", b"x"]


async def test_what_can_not_be_delayed_is_refused_before_anything_is_sent(
    broker: Any, open_shop: OpenShop
) -> None:
    shop = open_shop(broker, "{type: topic, delays: [30ms]}")
    async with shop.app() as app:
        with pytest.raises(ConfigurationError, match="its delays are 30ms"):
            await app.publish(shop.exchange, "order.paid", b"never", delay=0.031)
        with pytest.raises(ConfigurationError, match="is not in topology"):
            await app.publish(f"{shop.exchange}.gone", "order.paid", b"never", delay="30ms")
        assert await app.publish(shop.exchange, "order.paid", b"after")
        assert (await shop.next()).body == b"after"
        assert await shop.waiting("30ms") == 0


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_delayed_exchange_carries_any_delay_and_confirms_it(
    reference_broker: Any, open_shop: OpenShop, transport: str
) -> None:
    keys = "{type: x-delayed-message, arguments: {x-delayed-type: topic}}"
    shop = open_shop(reference_broker, keys)
    async with shop.app(transport) as app:
        assert await app.publish(shop.exchange, "order.paid", b"37", delay=0.037)
        delivery = await shop.next()
        assert (delivery.exchange, delivery.routing_key) == (shop.exchange, "order.paid")
        assert delivery.body == b"37"
