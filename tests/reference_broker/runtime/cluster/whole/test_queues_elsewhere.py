"""The management API of three processes, of which each answers for the queues of the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from urllib.parse import quote

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.testing import Cluster
from reference_broker.core.base.limits import MIB

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


def _declared(nodes: Cluster, at: str, queue: str, arguments: dict[str, object]) -> None:
    with pika.BlockingConnection(pika.URLParameters(nodes[at].url)) as connection:
        connection.channel().queue_declare(queue, durable=True, arguments=arguments)


def _apart(nodes: Cluster, bodies: list[bytes], **arguments: object) -> None:
    """``from a`` at ``a`` with such messages, of which each third is transient, and ``to b``, which
    is empty, at ``b``."""
    for at, queue in (("a", "from a"), ("b", "to b")):
        httpx.delete(f"{nodes['c'].management_url}/api/queues/%2F/{queue}", timeout=30)
        _declared(nodes, at, queue, arguments if at == "b" else {})
    with pika.BlockingConnection(pika.URLParameters(nodes["a"].url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for number, body in enumerate(bodies):
            properties = pika.BasicProperties(
                delivery_mode=2 if number % 3 else 1, headers={"n": number}, message_id=str(number)
            )
            channel.basic_publish("", "from a", body, properties)


def _found(nodes: Cluster, at: str, queue: str) -> list[tuple[bytes, int, str, bool]]:
    """All that a queue has: the body, the header, the routing key, and true for what was there
    before."""
    found: list[tuple[bytes, int, str, bool]] = []
    with pika.BlockingConnection(pika.URLParameters(nodes[at].url)) as connection:
        channel = connection.channel()
        while True:
            method, properties, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                return found
            assert set(properties.headers) == {"n"}
            number = properties.headers["n"]
            found.append((body, number, method.routing_key, method.redelivered))


def _moved(nodes: Cluster, at: str, **more: object) -> dict[str, object]:
    answer = _post(nodes, at, "queues/%2F/from%20a/move", {"destination": "to b", **more})
    assert answer.status_code == 200, answer.text
    row: dict[str, object] = answer.json()
    return row


def _as_published(bodies: list[bytes]) -> list[tuple[bytes, int, str, bool]]:
    return [(body, number, "from a", False) for number, body in enumerate(bodies)]


@pytest.mark.parametrize("at", ["a", "b", "c"])
def test_messages_are_moved_to_another_node(nodes: Cluster, at: str) -> None:
    bodies = [b"%d" % number for number in range(300)]
    bodies[100] = b"x" * MIB
    _apart(nodes, bodies)
    assert _moved(nodes, at, count=250) == {"moved": 250, "messages_ready": 50, "stopped": "count"}
    assert _moved(nodes, at) == {"moved": 50, "messages_ready": 0, "stopped": "count"}
    assert _found(nodes, "a", "from a") == []
    assert _found(nodes, "b", "to b") == _as_published(bodies)


def test_what_was_moved_to_another_node_is_on_disk_at_both(nodes: Cluster) -> None:
    bodies = [b"%d" % number for number in range(300)]
    _apart(nodes, bodies)
    assert _moved(nodes, "c")["moved"] == 300
    for node in "ab":
        nodes.kill(node)
    for node in "ab":
        nodes.start(node)
    assert _found(nodes, "a", "from a") == []
    there = _found(nodes, "b", "to b")
    assert [number for _, number, *_ in there] == [number for number in range(300) if number % 3]


@pytest.mark.parametrize("overflow", ["reject-publish", "reject-publish-dlx", "drop-head"])
def test_a_full_queue_of_another_node_gets_what_it_has_room_for(
    nodes: Cluster, overflow: str
) -> None:
    bodies = [b"%d" % number for number in range(30)]
    _apart(nodes, bodies, **{"x-max-length": 12, "x-overflow": overflow})
    stopped = "destination_full"
    assert _moved(nodes, "c") == {"moved": 12, "messages_ready": 18, "stopped": stopped}
    assert _moved(nodes, "b") == {"moved": 0, "messages_ready": 18, "stopped": stopped}
    assert _found(nodes, "c", "from a") + _found(nodes, "c", "to b") == (
        _as_published(bodies)[12:] + _as_published(bodies)[:12]
    )


def test_a_move_to_a_node_that_is_down_keeps_all(nodes: Cluster) -> None:
    bodies = [b"%d" % number for number in range(30)]
    _apart(nodes, bodies)
    assert _moved(nodes, "c", count=10)["moved"] == 10
    nodes.kill("b")
    down = _moved(nodes, "c")
    assert down == {"moved": 0, "messages_ready": 20, "stopped": "destination_down"}
    assert _found(nodes, "a", "from a") == _as_published(bodies)[10:]
    nodes.start("b")


def test_a_move_that_loses_the_node_half_way_loses_no_message(nodes: Cluster) -> None:
    bodies = [b"%d" % number for number in range(5_000)]
    _apart(nodes, bodies)
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(_moved, nodes, "c")
        while httpx.get(_row_of(nodes, "to b")).json().get("messages", 0) < 200:
            assert not moving.done()
        nodes.kill("b")
        answer = moving.result()
    nodes.start("b")
    left = [number for _, number, *_ in _found(nodes, "a", "from a")]
    assert answer["stopped"] == "destination_down"
    assert answer["moved"] == 5_000 - len(left)
    assert left == list(range(5_000 - len(left), 5_000))
    there = [number for _, number, *_ in _found(nodes, "b", "to b")]
    assert there == sorted(set(there))
    lost = set(range(5_000)) - set(left) - set(there)
    assert not [number for number in lost if number % 3], "but for transient ones"


def _row_of(nodes: Cluster, queue: str) -> str:
    return f"{nodes['a'].management_url}/api/queues/%2F/{queue}"


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
