"""The firehose: what clients publish and are given, once more, while a virtual host is traced."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, Typed, decode_header
from mqkit.wire.methods import (
    BasicConsume,
    BasicGet,
    BasicNack,
    QueueBind,
    QueueDeclare,
    TxCommit,
    TxSelect,
)
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.vhost.firehose import TRACE_EXCHANGE
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

PUBLISHED, DELIVERED = "published", "delivered"
CONNECTION = "127.0.0.1:50000 -> 127.0.0.1:5672"
ABOUT = {
    "node": "mqkit@localhost",
    "vhost": "/",
    "connection": CONNECTION,
    "channel": 1,
    "user": "guest",
}

Seen = tuple[str, bytes, dict[str, Any]]


class Traced:
    """A broker that traces, with a queue ``q``, and queues for what the firehose says."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.client = self.lone.client()
        self.declare("q")
        for queue, key in ((PUBLISHED, "publish.#"), (DELIVERED, "deliver.#")):
            self.declare(queue)
            self.client.send(1, QueueBind(queue, TRACE_EXCHANGE, key))
        self.client.received()
        self.trace()

    def declare(self, queue: str, **arguments: object) -> None:
        self.client.send(1, QueueDeclare(queue, arguments=arguments))

    def trace(self, *, on: bool = True) -> None:
        self.lone.broker.vhosts["/"].describe(VHostInfo(tracing=on))

    def seen(self, queue: str) -> list[Seen]:
        """The copies in a queue of the firehose: routing key, body, and headers."""
        vhost = self.lone.broker.vhosts["/"]
        found = []
        while (lease := vhost.queues[queue].get(self)) is not None:
            vhost.queues[queue].ack(lease)
            content = lease.content
            exchange_size = content.route[0]
            headers = decode_header(content.header)[1].headers
            assert headers is not None
            found.append(
                (content.route[exchange_size + 2 :].decode(), bytes(content.body), headers)
            )
        return found


@pytest.fixture
def traced() -> Traced:
    return Traced()


def delivered_to(client: LoneClient) -> list[bytes]:
    return [received.body for received in client.received() if received.header]


def test_a_publish_says_what_it_was_and_where_it_went(traced: Traced) -> None:
    traced.client.publish("q", b"one", properties=Properties(message_id="m", priority=3))
    assert traced.seen(PUBLISHED) == [
        (
            "publish.",
            b"one",
            {
                "exchange_name": "",
                "routing_keys": ["q"],
                "properties": {"message_id": "m", "priority": 3},
                "routed_queues": ["q"],
                **ABOUT,
            },
        )
    ]


def test_a_run_of_publishes_is_traced_one_by_one(traced: Traced) -> None:
    for number in range(5):
        traced.client.publish("q", b"%d" % number)
    assert [body for _, body, _ in traced.seen(PUBLISHED)] == [b"0", b"1", b"2", b"3", b"4"]


def test_what_is_routed_nowhere_is_traced_too(traced: Traced) -> None:
    traced.client.publish("nobody.here", exchange="amq.topic")
    [(key, _, headers)] = traced.seen(PUBLISHED)
    assert (key, headers["routed_queues"]) == ("publish.amq.topic", [])


def test_keys_of_cc_and_bcc_are_told(traced: Traced) -> None:
    headers = {"CC": ["published"], "BCC": ["delivered"]}
    traced.trace(on=False)
    traced.declare("trace-only")
    traced.client.send(1, QueueBind("trace-only", TRACE_EXCHANGE, "#"))
    traced.trace()
    traced.client.publish("q", properties=Properties(headers=headers))
    [(_, _, seen)] = traced.seen("trace-only")
    assert seen["routing_keys"] == ["q", "published", "delivered"]
    assert sorted(seen["routed_queues"]) == ["delivered", "published", "q"]
    assert seen["properties"] == {"headers": {"CC": ["published"]}}


def test_headers_keep_their_types_and_texts_their_octets(traced: Traced) -> None:
    properties = Properties(headers={"n": Typed("s", 5), "t": Typed("S", b"\xff")}, app_id="\udcff")
    traced.client.publish("q", properties=properties)
    [(_, _, seen)] = traced.seen(PUBLISHED)
    assert seen["properties"]["headers"]["n"] == 5
    assert seen["properties"]["headers"]["t"] == b"\xff"
    assert seen["properties"]["app_id"] == b"\xff"


def test_headers_as_deep_as_they_may_be_are_left_out(traced: Traced) -> None:
    deep: dict[str, Any] = {}
    for _ in range(31):
        deep = {"d": deep}
    traced.client.publish("q", properties=Properties(headers=deep, message_id="m"))
    [(_, _, seen)] = traced.seen(PUBLISHED)
    assert seen["properties"] == {"message_id": "m"}


@pytest.mark.parametrize("no_ack", [False, True])
def test_what_a_consumer_is_given(traced: Traced, no_ack: bool) -> None:
    for number in range(3):
        traced.client.publish("q", b"%d" % number)
    traced.client.send(1, BasicConsume("q", "tag", no_ack=no_ack))
    assert delivered_to(traced.client) == [b"0", b"1", b"2"]
    seen = traced.seen(DELIVERED)
    assert [(key, body) for key, body, _ in seen] == [
        ("deliver.q", b"0"),
        ("deliver.q", b"1"),
        ("deliver.q", b"2"),
    ]
    assert seen[0][2] == {
        "exchange_name": "",
        "routing_keys": ["q"],
        "properties": {},
        "redelivered": 0,
        **ABOUT,
    }


def test_a_redelivery_says_so(traced: Traced) -> None:
    traced.client.publish("q")
    traced.client.send(1, BasicGet("q"), BasicNack(1, requeue=True), BasicGet("q", no_ack=True))
    assert [headers["redelivered"] for _, _, headers in traced.seen(DELIVERED)] == [0, 1]


def test_copies_are_not_traced_themselves(traced: Traced) -> None:
    traced.client.publish("q")
    traced.client.send(1, BasicConsume(PUBLISHED, "tag", no_ack=True))
    assert len(delivered_to(traced.client)) == 1
    assert traced.seen(DELIVERED) == []


def test_a_transaction_is_traced_as_it_publishes(traced: Traced) -> None:
    traced.client.send(1, TxSelect())
    traced.client.publish("q")
    assert len(traced.seen(PUBLISHED)) == 1
    traced.client.send(1, TxCommit())
    assert traced.seen(PUBLISHED) == []


def test_it_begins_and_ends_between_two_messages_of_a_channel(traced: Traced) -> None:
    for on in (True, False, True):
        traced.trace(on=on)
        traced.client.publish("q", b"on" if on else b"off")
        traced.client.publish("q", b"on" if on else b"off")
    assert {body for _, body, _ in traced.seen(PUBLISHED)} == {b"on"}
    traced.trace(on=False)
    traced.client.send(1, BasicConsume("q", "tag"))
    assert len(delivered_to(traced.client)) == 6
    assert traced.seen(DELIVERED) == []


def test_a_queue_that_traces_its_own_deliveries_comes_to_rest(traced: Traced) -> None:
    traced.client.send(1, QueueBind("q", TRACE_EXCHANGE, "#"))
    traced.client.send(1, BasicConsume("q", "tag", no_ack=True))
    traced.client.received()
    traced.client.publish("q", b"x")
    assert delivered_to(traced.client) == [b"x", b"x", b"x"]


def test_a_name_that_is_too_long_for_a_key_is_cut(traced: Traced) -> None:
    name = "n" * 255
    traced.declare(name)
    traced.client.publish(name)
    traced.client.send(1, BasicGet(name))
    [(key, _, _)] = traced.seen(DELIVERED)
    assert key == ("deliver." + name)[:255]
