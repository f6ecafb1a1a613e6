"""Who is connected, and closing them, alike by both brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import aio_pika
import aiormq
import httpx
import pytest

from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.http.objects import connections
from reference_broker.http.request.portions import ENTRIES, ROW_ENTRIES
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


async def named(place: Any, eventually: Any, name: str) -> Any:
    async def fetch() -> list[Any]:
        rows = (await place.api.get("/api/connections")).json()
        return [row for row in rows if row.get("user_provided_name") == name]

    (row,) = await eventually(fetch, lambda rows: len(rows) == 1)
    return row


@pytest.mark.parametrize(
    ("headers", "reason"),
    [({}, "Closed via management plugin"), ({"X-Reason": "because é"}, "because é")],
)
async def test_closing_one(
    place: Any, eventually: Any, unique: Callable[[str], str], headers: Any, reason: str
) -> None:
    name = unique("c")
    connection = await aio_pika.connect(place.url, client_properties={"connection_name": name})
    closed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    connection.close_callbacks.add(lambda _, error: closed.set_result(error))
    row = await named(place, eventually, name)
    path = f"/api/connections/{quote(row['name'], safe='')}"
    headers = {key: value.encode() for key, value in headers.items()}
    answer = await place.api.delete(path, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    error = await asyncio.wait_for(closed, 10)
    assert isinstance(error, aiormq.AMQPError)
    assert f"CONNECTION_FORCED - {reason}" in str(error)

    async def fetch() -> Any:
        return (await place.api.get(path)).status_code

    await eventually(fetch, lambda status: status == 404)


async def test_channels_by_their_connection_and_name(
    place: Any, eventually: Any, unique: Callable[[str], str]
) -> None:
    name = unique("c")
    async with await aio_pika.connect(
        place.url, client_properties={"connection_name": name}
    ) as connection:
        await connection.channel()
        row = await named(place, eventually, name)
        connection_path = quote(row["name"], safe="")

        async def fetch() -> Any:
            answer = await place.api.get(f"/api/connections/{connection_path}/channels")
            return answer.json()

        (channel,) = await eventually(fetch, lambda rows: len(rows) == 1)
        path = f"/api/channels/{quote(channel['name'], safe='')}"
        shown = (await place.api.get(path)).json()
        assert (shown["number"], shown["consumer_details"]) == (1, [])
        in_vhost = (await place.api.get("/api/vhosts/%2F/channels")).json()
        assert channel["name"] in [row["name"] for row in in_vhost]


async def test_connections_of_a_user(
    place: Any, eventually: Any, unique: Callable[[str], str]
) -> None:
    name = unique("c")
    async with await aio_pika.connect(place.url, client_properties={"connection_name": name}):
        row = await named(place, eventually, name)
        tracked = (await place.api.get("/api/connections/username/guest")).json()
        wanted = {key: row[key] for key in ("name", "vhost", "user", "node")}
        assert wanted in tracked
        assert (await place.api.get("/api/connections/username/nobody")).json() == []
        plain = (await place.api.get("/api/connections?disable_stats=true")).json()
        assert wanted in plain


@pytest.mark.parametrize("path", ["channels", "consumers"])
async def test_what_is_nothing_but_statistics(place: Any, path: str) -> None:
    answer = await place.api.get(f"/api/{path}?disable_stats=true")
    assert answer.status_code == 400
    assert answer.json()["reason"] == "Stats in management UI are disabled on this node"


async def test_closing_what_is_not_there(place: Any) -> None:
    assert (await place.api.delete("/api/connections/no.such")).status_code == 404
    assert (await place.api.delete("/api/connections/username/nobody")).status_code == 204


async def test_many_connections_are_closed_in_portions(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "INPUT_CONNECTIONS", 2)
    url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/"
    opened = [await aio_pika.connect(url) for _ in range(5)]
    failed: list[int] = []
    finish = server.broker.finish

    def counted() -> None:
        finish()
        states = [each.state for each in server.broker.connections.values()]
        failed.append(len(opened) - states.count(ConnectionState.OPEN))

    monkeypatch.setattr(server.broker, "finish", counted)
    assert (await api.delete("/api/connections/username/guest")).status_code == 204
    assert max(after - before for before, after in pairwise([0, *failed])) == 2
    assert failed[-1] == 5
    assert not server.broker.connections


async def ignored(message: aio_pika.abc.AbstractIncomingMessage) -> None:
    """The message is left alone."""


async def test_the_consumers_of_a_queue_or_channel_come_in_portions(
    api: httpx.AsyncClient, server: Server
) -> None:
    url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/"
    count = 2 * ENTRIES // ROW_ENTRIES + 1
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("q")
        tags = [await queue.consume(ignored) for _ in range(count)]
        (row,) = (await api.get("/api/channels")).json()
        for path in ("queues/%2F/q", f"channels/{quote(row['name'], safe='')}"):
            shown = (await api.get(f"/api/{path}")).json()
            assert [each["consumer_tag"] for each in shown["consumer_details"]] == tags
            assert shown["node"] == row["node"]
            some = (await api.get(f"/api/{path}?columns=name,consumer_details")).json()
            assert (list(some), len(some["consumer_details"])) == (
                ["name", "consumer_details"], count,
            )  # fmt: skip
            assert list((await api.get(f"/api/{path}?columns=name")).json()) == ["name"]
            only = (await api.get(f"/api/{path}?columns=consumer_details")).json()
            assert list(only) == ["consumer_details"]
