"""Columns that tools read, named and valued alike by both brokers, after the same declarations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import aio_pika
import pytest

pytestmark = pytest.mark.anyio


async def hold(message: aio_pika.abc.AbstractIncomingMessage) -> None:
    """Neither acks nor rejects it."""


@pytest.fixture
async def names(place: Any, unique: Callable[[str], str]) -> AsyncIterator[dict[str, str]]:
    """A topic exchange, one bound to it, and a queue with arguments, two messages, one consumer
    that holds one of them; and an exclusive queue. All are deleted in the end."""
    names = {key: unique(key) for key in ("source", "fanout", "queue", "mine")}
    connection = await aio_pika.connect(
        place.url, client_properties={"connection_name": names["queue"]}
    )
    async with connection:
        channel = await connection.channel()
        await channel.set_qos(1)
        source = await channel.declare_exchange(names["source"], "topic", durable=True)
        fanout = await channel.declare_exchange(
            names["fanout"], "fanout", auto_delete=True, internal=True
        )
        await fanout.bind(source, "to.fanout")
        queue = await channel.declare_queue(
            names["queue"], durable=True, arguments={"x-max-length": 9, "x-message-ttl": 90_000}
        )
        await queue.bind(source, "a/b #~", arguments={"k": 1})
        await queue.bind(source, "a.*")
        await channel.declare_queue(names["mine"], exclusive=True)
        for _ in range(2):
            await source.publish(aio_pika.Message(b"12345", delivery_mode=2), "a.b")
        await queue.consume(hold, consumer_tag=names["queue"])
        yield names
        await queue.delete(if_unused=False, if_empty=False)
        await fanout.delete()
        await source.delete()


def part(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: row[key] for key in keys}


def at(*names: str) -> str:
    return "/".join(quote(name, safe="") for name in names)


async def test_a_queue(place: Any, names: dict[str, str], eventually: Any) -> None:
    async def fetch() -> Any:
        return (await place.api.get(f"/api/queues/{at('/', names['queue'])}")).json()

    def counted(row: Any) -> bool:
        # RabbitMQ has the queue's counts, its channels' and its consumers at different times.
        counts = (row.get("messages_ready"), row.get("messages_unacknowledged"))
        rates = row.get("message_stats", {})
        is_told = (rates.get("publish"), rates.get("deliver")) == (2, 1)
        consumers = (row.get("consumers"), len(row.get("consumer_details", ())))
        return counts == (1, 1) and is_told and consumers == (1, 1)

    row = await eventually(fetch, counted)
    assert part(
        row, "name", "vhost", "type", "durable", "auto_delete", "exclusive", "arguments",
        "messages", "consumers", "state", "policy", "message_bytes", "message_bytes_ready",
        "message_bytes_unacknowledged", "single_active_consumer_tag", "exclusive_consumer_tag",
    ) == {
        "name": names["queue"], "vhost": "/", "type": "classic", "durable": True,
        "auto_delete": False, "exclusive": False,
        "arguments": {"x-max-length": 9, "x-message-ttl": 90_000},
        "messages": 2, "consumers": 1, "state": "running", "policy": None, "message_bytes": 10,
        "message_bytes_ready": 5, "message_bytes_unacknowledged": 5,
        "single_active_consumer_tag": None, "exclusive_consumer_tag": None,
    }  # fmt: skip
    stats = part(row["message_stats"], "publish", "deliver", "deliver_get", "get", "redeliver")
    assert stats == {"publish": 2, "deliver": 1, "deliver_get": 1, "get": 0, "redeliver": 0}
    details = row["consumer_details"]
    assert [consumer["consumer_tag"] for consumer in details] == [names["queue"]]


async def test_queues_of_a_vhost(place: Any, names: dict[str, str]) -> None:
    rows = (await place.api.get("/api/queues/%2F")).json()
    found = {row["name"]: row for row in rows}
    assert not found[names["queue"]]["exclusive"]
    mine = found[names["mine"]]
    assert part(mine, "durable", "auto_delete", "exclusive", "arguments") == {
        "durable": False, "auto_delete": False, "exclusive": True, "arguments": {},
    }  # fmt: skip
    assert set(found) <= {row["name"] for row in (await place.api.get("/api/queues")).json()}


async def test_exchanges(place: Any, names: dict[str, str]) -> None:
    one = (await place.api.get(f"/api/exchanges/{at('/', names['fanout'])}")).json()
    keys = ("name", "vhost", "type", "durable", "auto_delete", "internal", "arguments")
    assert part(one, *keys) == {
        "name": names["fanout"], "vhost": "/", "type": "fanout", "durable": False,
        "auto_delete": True, "internal": True, "arguments": {},
    }  # fmt: skip
    rows = {row["name"]: row for row in (await place.api.get("/api/exchanges/%2F")).json()}
    assert part(rows[names["source"]], *keys)["type"] == "topic"
    own = {name: (rows[name]["type"], rows[name]["internal"]) for name in rows if "amq." in name}
    assert own == {
        "amq.direct": ("direct", False), "amq.fanout": ("fanout", False),
        "amq.topic": ("topic", False), "amq.headers": ("headers", False),
        "amq.match": ("headers", False), "amq.rabbitmq.trace": ("topic", True),
    }  # fmt: skip
    for path in ("amq.default", ""):
        default = (await place.api.get(f"/api/exchanges/%2F/{path}")).json()
        if isinstance(default, dict):  # RabbitMQ's own answer for the empty name is the list
            assert default["name"] == ""


async def test_bindings(place: Any, names: dict[str, str]) -> None:
    source, queue = names["source"], names["queue"]
    between = f"/api/bindings/{at('/')}/e/{at(source)}/q/{at(queue)}"
    rows = sorted((await place.api.get(between)).json(), key=lambda row: str(row["routing_key"]))
    assert [row.pop("properties_key").partition("~")[0] for row in rows] == [
        "a.%2A",
        "a%2Fb+%23%7E",
    ]
    same = {"source": source, "vhost": "/", "destination": queue, "destination_type": "queue"}
    assert rows == [
        {**same, "routing_key": "a.*", "arguments": {}},
        {**same, "routing_key": "a/b #~", "arguments": {"k": 1}},
    ]
    of_queue = (await place.api.get(f"/api/queues/{at('/', queue)}/bindings")).json()
    assert {(row["source"], row["routing_key"]) for row in of_queue} == {
        ("", queue), (source, "a.*"), (source, "a/b #~"),
    }  # fmt: skip
    everything = (await place.api.get("/api/bindings/%2F")).json()
    assert all(row in everything for row in of_queue)


async def test_bindings_of_exchanges(place: Any, names: dict[str, str]) -> None:
    of_source = f"/api/exchanges/{at('/', names['source'])}/bindings"
    sources = (await place.api.get(f"{of_source}/source")).json()
    assert {row["destination"] for row in sources} == {names["queue"], names["fanout"]}
    assert (await place.api.get(f"{of_source}/destination")).json() == []
    to = f"/api/exchanges/{at('/', names['fanout'])}/bindings/destination"
    (row,) = (await place.api.get(to)).json()
    assert row == {
        "source": names["source"], "vhost": "/", "destination": names["fanout"],
        "destination_type": "exchange", "routing_key": "to.fanout", "arguments": {},
        "properties_key": "to.fanout",
    }  # fmt: skip
    between = f"/api/bindings/%2F/e/{at(names['source'])}/e/{at(names['fanout'])}"
    assert (await place.api.get(between)).json() == [row]
    assert (await place.api.get(f"{between}/to.fanout")).json() == row
    assert (await place.api.get(f"{between}/other")).status_code == 404


async def test_who_is_connected(place: Any, names: dict[str, str], eventually: Any) -> None:
    async def fetch() -> Any:
        rows = (await place.api.get("/api/connections")).json()
        mine = [row for row in rows if row.get("user_provided_name") == names["queue"]]
        channels = (await place.api.get("/api/channels")).json()
        consumers = (await place.api.get("/api/consumers/%2F")).json()
        return (
            mine,
            [
                row
                for row in channels
                if mine and row["connection_details"]["name"] == mine[0]["name"]
            ],
            [row for row in consumers if row["queue"]["name"] == names["queue"]],
        )

    (connection,), (channel,), (consumer,) = await eventually(
        fetch,
        lambda found: (
            all(found)
            and found[0][0].get("channels") == 1
            and found[1][0].get("messages_unacknowledged") == 1
        ),
    )
    assert part(
        connection, "user", "vhost", "state", "protocol", "type", "ssl", "peer_host", "channel_max"
    ) == {
        "user": "guest", "vhost": "/", "state": "running", "protocol": "AMQP 0-9-1",
        "type": "network", "ssl": False, "peer_host": "127.0.0.1", "channel_max": 2047,
    }  # fmt: skip
    assert connection["name"] == "{peer_host}:{peer_port} -> {host}:{port}".format(**connection)
    by_name = (await place.api.get(f"/api/connections/{at(connection['name'])}")).json()
    assert by_name["connected_at"] == connection["connected_at"]
    assert part(
        channel, "number", "user", "vhost", "state", "consumer_count", "prefetch_count", "confirm",
        "global_prefetch_count", "transactional",
    ) == {
        "number": 1, "user": "guest", "vhost": "/", "state": "running", "consumer_count": 1,
        "prefetch_count": 1, "confirm": True, "global_prefetch_count": 0, "transactional": False,
    }  # fmt: skip
    assert channel["name"] == f"{connection['name']} (1)"
    assert part(
        consumer, "consumer_tag", "ack_required", "exclusive", "active", "activity_status",
        "queue", "prefetch_count", "arguments",
    ) == {
        "consumer_tag": names["queue"], "ack_required": True, "exclusive": False, "active": True,
        "activity_status": "up", "queue": {"name": names["queue"], "vhost": "/"},
        "prefetch_count": 1, "arguments": {},
    }  # fmt: skip
    details = part(consumer["channel_details"], "connection_name", "name", "number", "user")
    assert details == {
        "connection_name": connection["name"], "name": channel["name"], "number": 1,
        "user": "guest",
    }  # fmt: skip


async def test_the_broker_as_a_whole(place: Any, names: dict[str, str]) -> None:
    whoami = (await place.api.get("/api/whoami")).json()
    assert whoami == {"name": "guest", "tags": ["administrator"]}
    overview = (await place.api.get("/api/overview")).json()
    assert overview["object_totals"].keys() == {
        "connections", "channels", "consumers", "exchanges", "queues",
    }  # fmt: skip
    assert {"rabbitmq_version", "management_version", "cluster_name", "node"} <= overview.keys()
    types = {row["name"] for row in overview["exchange_types"]}
    assert {"direct", "fanout", "topic", "headers"} <= types
    (node,) = (await place.api.get("/api/nodes")).json()
    assert node["name"] == overview["node"]
    assert node["running"] is True
    assert (node["mem_alarm"], node["disk_free_alarm"], node["partitions"]) == (False, False, [])
    for key in ("mem_used", "mem_limit", "disk_free", "fd_used", "fd_total", "io_sync_count"):
        assert isinstance(node[key], int), key
    assert (await place.api.get(f"/api/nodes/{at(node['name'])}")).json()["name"] == node["name"]


async def test_vhosts(place: Any, names: dict[str, str]) -> None:
    rows = (await place.api.get("/api/vhosts")).json()
    vhost = next(row for row in rows if row["name"] == "/")
    assert vhost["tracing"] is False
    one = (await place.api.get("/api/vhosts/%2F")).json()
    assert (one["name"], one["tags"]) == ("/", vhost["tags"])
