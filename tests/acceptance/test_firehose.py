"""The firehose of a virtual host that is traced: alike on both brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pika
import pytest

EXCHANGE = "amq.rabbitmq.trace"
WAIT_S = 20
POLL_S = 0.02


class TracedVHost:
    """A virtual host of the test's own, with a queue ``q``, and ``seen`` for the firehose."""

    def __init__(self, broker: Any, name: str) -> None:
        self.name = name
        self._api = httpx.Client(
            base_url=broker.management_url, auth=("guest", "guest"), trust_env=False
        )
        self._put("vhosts", {})
        self._api.put(
            f"/api/permissions/{quote(name)}/guest",
            json={"configure": ".*", "write": ".*", "read": ".*"},
        ).raise_for_status()
        address = urlsplit(broker.url)
        self.connection = pika.BlockingConnection(
            pika.ConnectionParameters(address.hostname, address.port, name)
        )
        self.channel = self.connection.channel()
        for queue in ("q", "also", "seen"):
            self.channel.queue_declare(queue)
        self.channel.queue_bind("seen", EXCHANGE, "#")
        self.trace(on=True)

    def _put(self, kind: str, body: dict[str, Any]) -> None:
        self._api.put(f"/api/{kind}/{quote(self.name)}", json=body).raise_for_status()

    def trace(self, *, on: bool) -> None:
        """Returns when a probe comes through, or none does: RabbitMQ tells its channels late."""
        self._put("vhosts", {"tracing": on})

        def is_so() -> bool:
            self.channel.basic_publish("amq.fanout", "probe", b"")
            self.channel.queue_declare("q", passive=True)
            return (self.next() is not None) is on

        self._until(is_so)
        while self.next() is not None:
            pass

    def next(self) -> tuple[str, dict[str, Any], bytes] | None:
        method, properties, body = self.channel.basic_get("seen", auto_ack=True)
        return None if method is None else (method.routing_key, properties.headers, body)

    def all(self, count: int) -> list[tuple[str, dict[str, Any], bytes]]:
        """So many, as soon as they are there."""
        found: list[tuple[str, dict[str, Any], bytes]] = []

        def complete() -> bool:
            while (got := self.next()) is not None:
                found.append(got)
            return len(found) >= count

        self._until(complete)
        return found

    def _until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < deadline
            self.connection.process_data_events(POLL_S)

    def close(self) -> None:
        self.connection.close()
        self._api.delete(f"/api/vhosts/{quote(self.name)}")
        self._api.close()


@pytest.fixture
def traced(broker: Any, unique: Callable[[str], str]) -> Iterator[TracedVHost]:
    vhost = TracedVHost(broker, unique("traced"))
    yield vhost
    vhost.close()


def test_a_message_in_and_out(traced: TracedVHost) -> None:
    headers = {"n": 1, "CC": ["also"]}
    properties = pika.BasicProperties(headers=headers, message_id="m", priority=3, timestamp=1)
    traced.channel.basic_publish("", "q", b"body", properties)
    (_, _, _) = traced.channel.basic_get("q", auto_ack=True)
    (key, came, body), (out_key, went, out_body) = traced.all(2)
    assert (key, body, out_key, out_body) == ("publish.", b"body", "deliver.q", b"body")
    for said in (came, went):
        assert said.pop("node")
        assert " -> " in said.pop("connection")
    shown = {
        "headers": headers,
        "message_id": "m",
        "priority": 3,
        "timestamp": 1,
    }
    assert sorted(came.pop("routed_queues")) == ["also", "q"]
    assert came == {
        "exchange_name": "",
        "routing_keys": ["q", "also"],
        "properties": shown,
        "vhost": traced.name,
        "channel": 1,
        "user": "guest",
    }
    assert went == {
        "exchange_name": "",
        "routing_keys": ["q", "also"],
        "properties": shown,
        "redelivered": 0,
        "vhost": traced.name,
        "channel": 1,
        "user": "guest",
    }


def test_what_is_routed_nowhere_and_what_comes_back(traced: TracedVHost) -> None:
    traced.channel.basic_publish("amq.topic", "a.b", b"lost")
    [(key, headers, body)] = traced.all(1)
    assert (key, headers["routed_queues"], body) == ("publish.amq.topic", [], b"lost")
    traced.channel.basic_publish("", "q", b"back")
    method, _, _ = traced.channel.basic_get("q")
    traced.channel.basic_nack(method.delivery_tag)
    traced.channel.basic_get("q", auto_ack=True)
    seen = [(key, headers.get("redelivered")) for key, headers, _ in traced.all(3)]
    assert seen == [("publish.", None), ("deliver.q", 0), ("deliver.q", 1)]


def test_a_consumer_and_the_end_of_tracing(traced: TracedVHost) -> None:
    channel = traced.connection.channel()
    for number in range(3):
        traced.channel.basic_publish("", "q", b"%d" % number)
    for _, _, body in channel.consume("q", auto_ack=True):
        if body == b"2":
            break
    channel.cancel()
    seen = [(key, body) for key, _, body in traced.all(6)]
    assert sorted(seen) == [
        (key, b"%d" % number) for key in ("deliver.q", "publish.") for number in range(3)
    ]
    traced.trace(on=False)
    traced.channel.basic_publish("", "q", b"unseen")
    traced.channel.queue_declare("q", passive=True)
    assert traced.next() is None
