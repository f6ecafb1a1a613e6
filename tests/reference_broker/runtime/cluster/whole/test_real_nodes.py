"""Three processes of brokers, one etcd: what is declared on one is everywhere, and what a node has
is there again after it was stopped, or killed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from mqkit.testing import Cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]

STORED = pika.BasicProperties(delivery_mode=2)
READY = re.compile(
    r"ready amqp=127\.0\.0\.1:\d+ http=127\.0\.0\.1:\d+ cluster=test node=mqkit@[abc] members=[123]"
)


@contextmanager
def _channel(nodes: Cluster, name: str) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(nodes[name].url))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        connection.close()


def _count(channel: BlockingChannel, queue: str) -> int:
    count: int = channel.queue_declare(queue, passive=True).method.message_count
    return count


def test_each_says_that_it_is_ready_and_which_it_is(nodes: Cluster) -> None:
    for node in nodes.nodes.values():
        assert READY.fullmatch(node.ready_line)


def test_what_is_declared_on_one_is_there_on_all_at_once(nodes: Cluster) -> None:
    with _channel(nodes, "a") as a, _channel(nodes, "b") as b, _channel(nodes, "c") as c:
        for number in range(50):
            a.queue_declare(f"at once {number}", durable=True)
            for other in (b, c):
                assert _count(other, f"at once {number}") == 0
        b.exchange_declare("orders", "topic", durable=True)
        c.queue_bind("at once 1", "orders", "new.#")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="406"):
            c.exchange_declare("orders", "fanout", durable=True)


def test_a_user_of_one_may_log_in_at_all(nodes: Cluster) -> None:
    url = nodes["b"].management_url
    made = httpx.put(f"{url}/api/users/ann", json={"password": "secret", "tags": "administrator"})
    assert made.status_code == 201
    for node in nodes.nodes.values():
        answer = httpx.get(
            f"http://127.0.0.1:{node.management_port}/api/whoami", auth=("ann", "secret")
        )
        assert answer.json()["name"] == "ann"


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_node_that_is_back_has_its_durable_queue_with_its_messages(
    nodes: Cluster, ends: str
) -> None:
    queue = f"kept over a {ends}"
    with _channel(nodes, "b") as b:
        b.queue_declare(queue, durable=True, arguments={"x-max-priority": 3})
        for number in range(20):
            b.basic_publish("", queue, b"%d" % number, STORED)
    getattr(nodes, ends)("b")
    nodes.start("b")
    with _channel(nodes, "b") as b, _channel(nodes, "a") as a:
        assert _count(b, queue) == 20
        assert [b.basic_get(queue, auto_ack=True)[2] for _ in range(20)] == [
            b"%d" % number for number in range(20)
        ]
        assert _count(a, queue) == 0
        b.queue_delete(queue)


def test_what_was_deleted_while_its_home_was_away_is_gone_when_that_is_back(
    nodes: Cluster,
) -> None:
    with _channel(nodes, "c") as c:
        c.queue_declare("forgotten", durable=True)
        c.queue_declare("remembered", durable=True)
        for queue in ("forgotten", "remembered"):
            c.basic_publish("", queue, b"x", STORED)
    nodes.stop("c")
    with _channel(nodes, "a") as a, pytest.raises(ChannelClosedByBroker, match="is down or inacc"):
        a.queue_delete("forgotten")  # as RabbitMQ; its operator may
    path = "/api/queues/%2f/forgotten"
    deleted = httpx.delete(nodes["a"].management_url + path, auth=("guest", "guest"))
    assert deleted.status_code == 204
    with _channel(nodes, "a") as a:
        a.queue_declare("forgotten", durable=True)
    nodes.start("c")
    with _channel(nodes, "c") as c:
        assert (_count(c, "forgotten"), _count(c, "remembered")) == (0, 1)


def test_an_alarm_of_one_node_blocks_publishers_of_the_others_until_it_ends(
    nodes: Cluster,
) -> None:
    told: list[str] = []
    connection = pika.BlockingConnection(pika.URLParameters(nodes["a"].url))
    connection.add_on_connection_blocked_callback(lambda _, frame: told.append(frame.method.reason))
    connection.add_on_connection_unblocked_callback(lambda *_: told.append("unblocked"))
    channel = connection.channel()
    channel.queue_declare("blocked elsewhere")

    def told_all(expected: list[str]) -> bool:
        deadline = time.monotonic() + 10
        while told != expected and time.monotonic() < deadline:
            # Only who publishes after the alarm has come to its node is told of it.
            channel.basic_publish("", "blocked elsewhere", b"x")
            connection.process_data_events(0.05)
        return told == expected

    try:
        _set_alarm(nodes, "b", "disk", on=True)
        assert told_all(["low on disk"])
        _set_alarm(nodes, "b", "disk", on=False)
        assert told_all(["low on disk", "unblocked"])
        _set_alarm(nodes, "b", "memory", on=True)
        assert told_all(["low on disk", "unblocked", "low on memory"])
        nodes.kill("b")
        assert told_all(["low on disk", "unblocked", "low on memory", "unblocked"])
    finally:
        connection.close()
        nodes.start("b")


def _set_alarm(nodes: Cluster, node: str, alarm: str, *, on: bool) -> None:
    url = f"{nodes[node].management_url}/api/nodes/mqkit@{node}/alarms"
    assert httpx.put(url, json={alarm: on}, auth=("guest", "guest")).status_code == 204
