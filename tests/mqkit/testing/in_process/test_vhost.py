"""A virtual host of a test's own on the broker of its process."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import aio_pika
import pika
import pytest

import mqkit
from mqkit.testing import reference_broker
from mqkit.testing.in_process.broker_thread import BrokerThread
from reference_broker.core.broker import Broker


def vhosts(broker: Broker) -> list[str]:
    return sorted(broker.vhosts)


def test_every_client_finds_it() -> None:
    with reference_broker() as broker:
        with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
            channel = connection.channel()
            channel.queue_declare("q")
            channel.basic_publish("", "q", b"by pika")
        assert broker.queue("q").blocking.one().body == b"by pika"


@pytest.mark.anyio
async def test_every_asynchronous_client_finds_it() -> None:
    with reference_broker() as broker:
        async with await aio_pika.connect(broker.url) as connection:
            channel = await connection.channel()
            await channel.declare_queue("q")
            await channel.default_exchange.publish(aio_pika.Message(b"by aio-pika"), "q")
        async with mqkit.App(broker.url) as app:
            assert await app.publish("", "q", "by mqkit")
        bodies = [each.body for each in await broker.queue("q").take(2)]
        assert bodies == [b"by aio-pika", b"by mqkit"]


def test_it_is_empty_and_goes_with_its_block() -> None:
    with reference_broker() as first, reference_broker() as second:
        names = [urlsplit(each.url).path[1:] for each in (first, second)]
        thread = BrokerThread.of_process()
        assert set(names) <= set(thread.perform(vhosts))
        with pika.BlockingConnection(pika.URLParameters(first.url)) as connection:
            connection.channel().queue_declare("q")
        with pytest.raises(mqkit.ChannelError, match="no queue 'q'"):
            second.queue("q").blocking.depth  # noqa: B018
    assert not set(names) & set(thread.perform(vhosts))


def test_who_is_still_connected_is_told_and_closed() -> None:
    with reference_broker() as broker:
        connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker, match="is deleted"):
        connection.process_data_events(time_limit=10)


def test_nothing_but_loopback_listens() -> None:
    with reference_broker() as broker:
        port = urlsplit(broker.url).port
        node = BrokerThread.of_process().run(BrokerThread.of_process().server.node)
    assert [(each.protocol, each.host, each.port) for each in node.listening] == [
        ("amqp", "127.0.0.1", port)
    ]


def test_a_stopped_broker_listens_no_more_and_another_starts() -> None:
    with reference_broker() as broker:
        port = urlsplit(broker.url).port
    BrokerThread.stop_of_process()
    BrokerThread.stop_of_process()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port or 0)) != 0
    with reference_broker() as broker:
        assert urlsplit(broker.url).port
