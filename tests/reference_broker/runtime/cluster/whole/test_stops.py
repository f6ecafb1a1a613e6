"""A node that is stopped while others owe it answers: it ends in time, and who waits is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from typing import Any

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError

from mqkit.testing import Cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]

END_S = 30
STOP_S = 12
"""Seconds for a stop: 3 s each for requests over HTTP, for clients, for what is left over, and the
pace of a busy machine."""

LOST = ("Traceback", "Task was destroyed", "never retrieved", "never awaited", "Exception in")
"""Words of asyncio and Python for work that nobody has ended."""

AmqpCall = Callable[[BlockingChannel], object]

STORED = pika.BasicProperties(delivery_mode=2)


def _published(channel: BlockingChannel) -> None:
    channel.confirm_delivery()
    channel.basic_publish("", "there", b"x", STORED, mandatory=True)


def _committed(channel: BlockingChannel) -> None:
    channel.tx_select()
    channel.basic_publish("", "there", b"x", STORED)
    channel.tx_commit()


AT_HOME: dict[str, AmqpCall] = {
    "declare": lambda channel: channel.queue_declare("there", durable=True),
    "counts": lambda channel: channel.queue_declare("there", passive=True),
    "get": lambda channel: channel.basic_get("there"),
    "consume": lambda channel: channel.basic_consume("there", lambda *_: None),
    "purge": lambda channel: channel.queue_purge("there"),
    "delete": lambda channel: channel.queue_delete("there", if_empty=True),
    "publish": _published,
    "commit": _committed,
}

HTTP: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "queues", None),
    ("GET", "queues/%2F/there", None),
    ("GET", "overview", None),
    ("GET", "connections", None),
    ("GET", "nodes", None),
    (
        "POST",
        "queues/%2F/there/get",
        {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"},
    ),
    ("DELETE", "queues/%2F/there/contents", None),
    (
        "POST",
        "exchanges/%2F/amq.default/publish",
        {"properties": {}, "routing_key": "there", "payload": "x", "payload_encoding": "string"},
    ),
    ("GET", "aliveness-test/%2F", None),
]

ETCD_AMQP: dict[str, AmqpCall] = {
    "declare new": lambda channel: channel.queue_declare("new", durable=True),
    "delete": lambda channel: channel.queue_delete("here"),
    "bind": lambda channel: channel.queue_bind("here", "amq.topic", "k"),
}

ETCD_HTTP: list[tuple[str, str, dict[str, Any] | None]] = [
    ("PUT", "queues/%2F/newer", {"durable": True}),
    ("PUT", "vhosts/newer", None),
    ("PUT", "users/ann", {"password": "x", "tags": ""}),
    (
        "POST",
        "definitions",
        {
            "queues": [
                {
                    "vhost": "/",
                    "name": "of a file",
                    "durable": True,
                    "auto_delete": False,
                    "arguments": {},
                }
            ]
        },
    ),
]

DRAIN: tuple[str, str, dict[str, Any] | None] = (
    "PUT",
    "nodes/mqkit@a/draining",
    {"draining": True},
)


@contextmanager
def _pending(
    nodes: Cluster, amqp: dict[str, AmqpCall], http: list[tuple[str, str, dict[str, Any] | None]]
) -> Iterator[tuple[Future[str], ...]]:
    """Requests to node a, each on a thread of its own."""
    calls = [pika.BlockingConnection(pika.URLParameters(nodes["a"].url)) for _ in amqp]
    channels = [each.channel() for each in calls]
    with ThreadPoolExecutor(len(amqp) + len(http)) as pool:
        yield (
            *(
                pool.submit(_amqp, call, channel)
                for call, channel in zip(amqp.values(), channels, strict=True)
            ),
            *(pool.submit(_http, nodes["a"].management_url, *each) for each in http),
        )
    for each in calls:
        with suppress(AMQPError):  # the node has stopped
            each.close()


def _amqp(call: AmqpCall, channel: BlockingChannel) -> str:
    try:
        call(channel)
    except AMQPError as error:
        return repr(error)
    return "done"


def _http(url: str, method: str, path: str, body: dict[str, Any] | None) -> str:
    try:
        answer = httpx.request(method, f"{url}/api/{path}", json=body, timeout=END_S)
    except httpx.HTTPError as error:
        return repr(error)
    return f"{method} {path}: {answer.status_code} {answer.text[:200]}"


def _declared(nodes: Cluster) -> None:
    for name, queue in (("a", "here"), ("b", "there")):
        with pika.BlockingConnection(pika.URLParameters(nodes[name].url)) as connection:
            connection.channel().queue_declare(queue, durable=True)


def _assert_stops(nodes: Cluster, waiting: tuple[Future[str], ...]) -> list[str]:
    """The answers to those who waited."""
    before = nodes["a"].errors()
    began = time.monotonic()
    nodes["a"].ask_to_stop()
    assert nodes["a"].wait(END_S) == 0
    seconds = time.monotonic() - began
    told = [each.result(END_S) for each in waiting]
    said = nodes["a"].errors().removeprefix(before)
    print(f"stopped in {seconds:.1f} s", *told, said, sep="\n")
    assert not [word for word in LOST if word in said]
    assert not [each for each in told if ": 500" in each]
    assert seconds < STOP_S
    return told


@pytest.mark.parametrize("waited_s", [0.1, 0.5])
def test_a_node_stops_while_a_home_does_not_answer(nodes: Cluster, waited_s: float) -> None:
    nodes.start()
    _declared(nodes)
    try:
        nodes.pause("b")
        with _pending(nodes, AT_HOME, HTTP) as waiting:
            Event().wait(waited_s)  # some are there, and wait
            _assert_stops(nodes, waiting)
    finally:
        nodes.resume("b")


@pytest.mark.parametrize("is_drained", [False, True])
def test_a_node_stops_while_etcd_does_not_answer(nodes: Cluster, is_drained: bool) -> None:
    nodes.start()
    _declared(nodes)
    nodes.etcd.pause()
    try:
        http = [*ETCD_HTTP, DRAIN] if is_drained else ETCD_HTTP
        with _pending(nodes, ETCD_AMQP, http) as waiting:
            Event().wait(1)
            told = _assert_stops(nodes, waiting)
            assert [each for each in told if '503 {"error":"stopping"' in each] == told[
                -len(http) :
            ]
    finally:
        nodes.etcd.resume()
