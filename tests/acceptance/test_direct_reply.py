"""Remote calls whose answers need no queue: amq.rabbitmq.reply-to."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

Names = Callable[[str], str]
REPLY_TO = "amq.rabbitmq.reply-to"
WAIT_S = 10.0


@pytest.fixture
def connect(broker: Any) -> Iterator[Callable[[], Any]]:
    connections: list[Any] = []

    def connected() -> Any:
        connections.append(pika.BlockingConnection(pika.URLParameters(broker.url)))
        return connections[-1]

    yield connected
    for connection in connections:
        if connection.is_open:
            connection.close()


class Caller:
    """A client that asks, and keeps what it is answered."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.channel = connection.channel()
        self.answers: list[tuple[str, str, bytes]] = []
        self.channel.basic_consume(REPLY_TO, self._answered, auto_ack=True)

    def _answered(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        assert not method.redelivered
        self.answers.append((method.exchange, properties.correlation_id, body))

    def ask(self, queue: str, number: str) -> None:
        properties = pika.BasicProperties(reply_to=REPLY_TO, correlation_id=number)
        self.channel.basic_publish("", queue, b"question", properties)

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while len(self.answers) < count:
            assert time.monotonic() < deadline, "no answer in time"
            self.connection.process_data_events(time_limit=0.05)


def question(server: Any, queue: str) -> Any:
    """The properties of the next question in the queue."""
    deadline = time.monotonic() + WAIT_S
    while True:
        method, properties, _ = server.basic_get(queue, auto_ack=True)
        if method is not None:
            return properties
        assert time.monotonic() < deadline, "no question in time"


def test_answers_come_to_who_asked(connect: Callable[[], Any], unique: Names) -> None:
    server, name = connect().channel(), unique("rpc")
    server.queue_declare(name)
    callers = [Caller(connect()), Caller(connect())]
    for number, caller in enumerate(callers):
        caller.ask(name, str(number))
        properties = question(server, name)
        assert re.fullmatch(re.escape(REPLY_TO) + r"\.[^.]+\.[^.]{22}==", properties.reply_to)
        for body in (b"first", b"second"):
            server.basic_publish(
                "",
                properties.reply_to,
                body,
                pika.BasicProperties(correlation_id=properties.correlation_id),
            )
    for number, caller in enumerate(callers):
        caller.wait_for(2)
        assert caller.answers == [("", str(number), b"first"), ("", str(number), b"second")]


def test_an_address_ends_with_its_channel(connect: Callable[[], Any], unique: Names) -> None:
    server, name = connect().channel(), unique("rpc")
    server.queue_declare(name)
    caller = Caller(connect())
    caller.ask(name, "1")
    address = question(server, name).reply_to
    declared = server.queue_declare(address, passive=True).method
    assert (declared.message_count, declared.consumer_count) == (0, 1)
    caller.channel.close()
    server.confirm_delivery()
    with pytest.raises(pika.exceptions.UnroutableError):
        server.basic_publish("", address, b"late", mandatory=True)
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as closed:
        server.queue_declare(address, passive=True)
    assert closed.value.reply_text == f"NOT_FOUND - no queue '{address}' in vhost '/'"


def test_what_is_refused(connect: Callable[[], Any]) -> None:
    connection = connect()

    def refusal(operation: Callable[[Any], object]) -> str:
        channel = connection.channel()
        with pytest.raises(pika.exceptions.ChannelClosedByBroker) as closed:
            operation(channel)
        assert closed.value.reply_code == 406
        return str(closed.value.reply_text)

    def ask_without_consumer(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish("", "q", b"", pika.BasicProperties(reply_to=REPLY_TO))

    assert refusal(lambda c: c.basic_consume(REPLY_TO, print)) == (
        "PRECONDITION_FAILED - reply consumer cannot acknowledge"
    )
    assert refusal(
        lambda c: [c.basic_consume(REPLY_TO, print, auto_ack=True) for _ in range(2)]
    ) == ("PRECONDITION_FAILED - reply consumer already set")
    assert refusal(ask_without_consumer) == (
        "PRECONDITION_FAILED - fast reply consumer does not exist"
    )
