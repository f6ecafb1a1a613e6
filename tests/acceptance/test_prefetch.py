"""Whom a prefetch holds back, and what is still delivered before a cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

Names = Callable[[str], str]


class Consumption:
    """The deliveries to the consumers of one channel, by consumer tag and delivery tag."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.channel = connection.channel()
        self.received: list[tuple[str, int]] = []

    def queue(self, name: str, messages: int) -> str:
        self.channel.queue_declare(name, auto_delete=True)
        for _ in range(messages):
            self.channel.basic_publish("", name, b"x")
        return name

    def consume(self, queue: str, tag: str, *, no_ack: bool = False) -> None:
        def arrived(_channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
            self.received.append((method.consumer_tag, method.delivery_tag))

        self.channel.basic_consume(queue, arrived, auto_ack=no_ack, consumer_tag=tag)

    def wait(self, count: int) -> None:
        """Until so many have come; a time without any fails the test."""
        while len(self.received) < count:
            before = len(self.received)
            self.connection.process_data_events(time_limit=5)
            assert len(self.received) > before, f"only {self.received}"

    def round_trips(self) -> None:
        """Time for a delivery that should not come."""
        for _ in range(20):
            self.channel.queue_declare("amq.rabbitmq.reply-to", passive=True)
        self.connection.process_data_events()


@pytest.fixture
def consumption(broker: Any) -> Iterator[Consumption]:
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    yield Consumption(connection)
    connection.close()


def test_a_consumer_without_acks_waits_for_a_global_prefetch(
    consumption: Consumption, unique: Names
) -> None:
    channel = consumption.channel
    channel.basic_qos(prefetch_count=1, global_qos=True)
    consumption.consume(consumption.queue(unique("a"), 1), "acks")
    consumption.wait(1)
    consumption.consume(consumption.queue(unique("b"), 2), "none", no_ack=True)
    consumption.round_trips()
    assert consumption.received == [("acks", 1)]
    channel.basic_ack(1)
    consumption.wait(3)
    assert consumption.received[1:] == [("none", 2), ("none", 3)]


def test_a_global_prefetch_leaves_no_queue_behind(consumption: Consumption, unique: Names) -> None:
    channel = consumption.channel
    channel.basic_qos(prefetch_count=1, global_qos=True)
    for tag in ("a", "b", "c"):
        consumption.consume(consumption.queue(unique(tag), 30), tag)
    for delivery in range(1, 30):
        consumption.wait(delivery)
        channel.basic_ack(delivery)
    assert {tag for tag, _ in consumption.received} == {"a", "b", "c"}


def test_what_was_published_before_a_cancel_is_delivered_before_it(
    consumption: Consumption, unique: Names
) -> None:
    queue = consumption.queue(unique("q"), 0)
    channel = consumption.channel
    consumption.consume(queue, "stays", no_ack=True)
    consumption.consume(queue, "goes", no_ack=True)
    for _ in range(10):
        channel.basic_publish("", queue, b"x")
    channel.basic_cancel("goes")  # pika throws away what it has not handed on yet
    consumption.wait(5)
    consumption.round_trips()
    assert [tag for tag, _ in consumption.received].count("stays") == 5
