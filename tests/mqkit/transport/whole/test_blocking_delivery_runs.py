"""``consume_runs`` of the native blocking channel, on both brokers."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.message import Message, Properties
from mqkit.transport.native.delivery_run import DeliveryRun
from mqkit.transport.native.exact import from_octets
from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.url import parse

TIMEOUT_S = 20.0


@pytest.fixture
def channel(broker: Any) -> Iterator[NativeBlockingChannel]:
    connection = NativeBlockingTransport().connect(
        parse(broker.url), name="test_delivery_runs", timeout_s=TIMEOUT_S
    )
    yield connection.channel(confirms=True)
    connection.close()


def test_runs_have_every_message_in_order(channel: NativeBlockingChannel) -> None:
    name = channel.declare_queue(Queue("", exclusive=True)).name
    # Above a frame, empty, and with ids of several lengths.
    bodies = [b"%d" % n * (50_000 if n % 400 == 7 else n % 3) for n in range(1_000)]
    messages = [
        Message("", name, body, Properties(message_id=str(n), headers={"n": n} if n % 5 else {}))
        for n, body in enumerate(bodies)
    ]
    assert all(outcome.result(TIMEOUT_S) for outcome in channel.publish_many(messages))
    told: queue.Queue[DeliveryRun] = queue.Queue()
    channel.qos(1_000)
    tag = channel.consume_runs(name, told.put, on_cancel=lambda _: None)
    found = DeliveryRun()
    while len(found) < 1_000:
        found.extend(told.get(timeout=TIMEOUT_S))
    assert found.bodies == bodies
    assert found.tags == list(range(1, 1_001))
    assert {(way.consumer_tag, way.exchange, way.routing_key) for way in found.ways} == {
        (tag, "", name)
    }
    read = [from_octets(octets) for octets in found.properties]
    assert [each.message_id for each in read] == [str(n) for n in range(1_000)]
    assert [each.headers for each in read] == [{"n": n} if n % 5 else {} for n in range(1_000)]
    channel.cancel(tag)
    channel.ack(990, multiple=True)
    channel.nack(0, multiple=True)
    left = channel.get_many(name, 20)
    assert [each.body for each in left] == bodies[990:]


def test_a_consumer_of_runs_hears_that_its_queue_is_gone(channel: NativeBlockingChannel) -> None:
    name = channel.declare_queue(Queue("", exclusive=True)).name
    cancelled: queue.Queue[str] = queue.Queue()
    tag = channel.consume_runs(name, lambda _: None, on_cancel=cancelled.put)
    channel.delete_queue(name)
    assert cancelled.get(timeout=TIMEOUT_S) == tag
