"""The management API of three processes, of which each answers for the queues of the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from urllib.parse import quote

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.testing import Cluster

END_S = 30

STORED = pika.BasicProperties(delivery_mode=2)

pytestmark = [pytest.mark.live, pytest.mark.slow]


def _post(nodes: Cluster, at: str, path: str, body: dict[str, object]) -> httpx.Response:
    url = f"{nodes[at].management_url}/api/{path}"
    return httpx.post(url, json=body, timeout=30)


def _published(channel: BlockingChannel, queue: str, count: int) -> None:
    channel.confirm_delivery()
    for number in range(count):
        channel.basic_publish("", queue, b"%d" % number, STORED)


def test_messages_are_moved_at_any_node_and_are_on_disk(nodes: Cluster) -> None:
    with pika.BlockingConnection(pika.URLParameters(nodes["b"].url)) as connection:
        channel = connection.channel()
        for queue in ("source", "target"):
            channel.queue_declare(queue, durable=True)
        _published(channel, "source", 4_000)
    moved = _post(nodes, "a", "queues/%2F/source/move", {"destination": "target"})
    assert moved.json() == {"moved": 4_000, "messages_ready": 0, "stopped": "count"}
    nodes.kill("b")
    nodes.start("b")
    counts = {
        queue: httpx.get(f"{nodes['b'].management_url}/api/queues/%2F/{queue}").json()["messages"]
        for queue in ("source", "target")
    }
    assert counts == {"source": 0, "target": 4_000}


def test_dead_letters_are_reprocessed_at_any_node(nodes: Cluster) -> None:
    with pika.BlockingConnection(pika.URLParameters(nodes["a"].url)) as connection:
        connection.channel().queue_declare("origin", durable=True)
    with pika.BlockingConnection(pika.URLParameters(nodes["b"].url)) as connection:
        channel = connection.channel()
        channel.queue_declare("lot", durable=True)
        letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "lot"}
        channel.queue_declare("dying", durable=True, arguments={**letters, "x-message-ttl": 1})
        _published(channel, "dying", 10)
        while channel.queue_declare("lot", passive=True).method.message_count < 10:
            pass
        channel.queue_delete("dying")
        channel.queue_declare("dying", durable=True)
    answer = _post(nodes, "c", "queues/%2F/lot/reprocess", {"count": 7})
    assert answer.json() == {"reprocessed": 7, "skipped": 0}
    row = httpx.get(f"{nodes['c'].management_url}/api/queues/%2F/dying").json()
    assert (row["messages"], row["node"]) == (7, "mqkit@b")
    apart = _post(nodes, "c", "queues/%2F/lot/move", {"destination": "origin"})
    assert apart.status_code == 400
    assert "node mqkit@b, that of queue 'origin'" in apart.json()["reason"]


def test_a_queue_has_the_consumers_of_all_nodes(nodes: Cluster) -> None:
    connections = {
        name: pika.BlockingConnection(pika.URLParameters(node.url))
        for name, node in nodes.nodes.items()
    }
    connections["b"].channel().queue_declare("q", durable=True)
    for name, connection in connections.items():
        connection.channel().basic_consume("q", lambda *_: None, consumer_tag=f"at {name}")
    for node in nodes.nodes.values():
        row = httpx.get(f"{node.management_url}/api/queues/%2F/q").json()
        assert (row["node"], row["consumers"]) == ("mqkit@b", 3)
        found = sorted(
            (each["consumer_tag"], each["channel_details"]["node"])
            for each in row["consumer_details"]
        )
        assert found == [(f"at {name}", f"mqkit@{name}") for name in "abc"]
    for connection in connections.values():
        connection.close()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + END_S
    while not holds():
        assert time.monotonic() < end
        Event().wait(0.05)  # for other processes, and nobody tells it


def _activities(rows: list[dict[str, object]]) -> dict[object, tuple[object, object]]:
    return {row["consumer_tag"]: (row["active"], row["activity_status"]) for row in rows}


def _shown_activities(nodes: Cluster) -> list[dict[object, tuple[object, object]]]:
    """The consumers of ``single`` as each node lists them, and shows them with their queue and
    their channels."""
    found: list[dict[object, tuple[object, object]]] = []
    for node in nodes.nodes.values():
        api = f"{node.management_url}/api"
        rows = httpx.get(f"{api}/consumers/%2F").json()
        rows = [row for row in rows if row["queue"]["name"] == "single"]
        details = httpx.get(f"{api}/queues/%2F/single").json()["consumer_details"]
        of_channels = [
            each
            for row in rows
            for each in httpx.get(
                f"{api}/channels/{quote(row['channel_details']['name'], safe='')}"
            ).json()["consumer_details"]
        ]
        found += map(_activities, (rows, details, of_channels))
    return found


def test_the_single_active_consumer_is_shown_as_such_at_all_nodes(nodes: Cluster) -> None:
    opened = {
        name: pika.BlockingConnection(pika.URLParameters(node.url))
        for name, node in nodes.nodes.items()
    }
    alone = {"x-single-active-consumer": True}
    opened["b"].channel().queue_declare("single", durable=True, arguments=alone)
    for name in "cab":
        opened[name].channel().basic_consume("single", lambda *_: None, consumer_tag=f"at {name}")
    tags = ["at c", "at a", "at b"]
    while tags:
        expected = dict.fromkeys(tags, (False, "waiting")) | {tags[0]: (True, "single_active")}
        _until(lambda expected=expected: _shown_activities(nodes) == [expected] * 9)  # type: ignore[misc]
        opened[tags.pop(0)[-1]].close()
