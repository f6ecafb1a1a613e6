"""The node's own figures."""

from __future__ import annotations

import os

import httpx
import pytest

from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

PERSISTENT = {
    "properties": {"delivery_mode": 2},
    "routing_key": "q",
    "payload": "x",
    "payload_encoding": "string",
}


async def test_syncs_are_counted(server: Server, api: httpx.AsyncClient) -> None:
    async def count() -> int:
        return int((await api.get("/api/nodes")).json()[0]["io_sync_count"])

    server.broker.vhosts["/"].declare_queue("q", durable=True)
    before = await count()
    for _ in range(3):
        await api.post("/api/exchanges/%2F/amq.default/publish", json=PERSISTENT)
    assert await count() >= before + 3


async def test_the_process(server: Server, api: httpx.AsyncClient) -> None:
    (node,) = (await api.get("/api/nodes")).json()
    assert node["os_pid"] == str(os.getpid())
    assert node["db_dir"] == str(server.config.data_dir)
    assert node["type"] == "disc"
    assert 0 < node["fd_used"] < node["fd_total"]
    assert min(node["mem_used"], node["mem_limit"], node["disk_free"]) > 0
    assert node["uptime"] >= 0
    assert node["disk_free_limit"] == 50_000_000
    assert node["store_damage"] == {
        "lost_messages": 0, "quarantined_bytes": 0, "quarantined_files": 0,
        "missing_segments": 0, "unreadable_reads": 0,
    }  # fmt: skip


async def test_deaths_that_no_header_had_room_for(server: Server, api: httpx.AsyncClient) -> None:
    server.broker.add_vhost("gone").dead_letters.tables_dropped = 2
    server.broker.vhosts["/"].dead_letters.tables_dropped = 3
    assert (await api.delete("/api/vhosts/gone")).status_code == 204
    (node,) = (await api.get("/api/nodes")).json()
    assert node["dead_letter_tables_dropped"] == 5
    assert "\nmqkit_dead_letter_tables_dropped_total 5.0\n" in (await api.get("/metrics")).text


async def test_totals(server: Server, api: httpx.AsyncClient) -> None:
    server.broker.vhosts["/"].declare_queue("q", durable=True)
    for _ in range(2):
        await api.post("/api/exchanges/%2F/amq.default/publish", json=PERSISTENT)
    overview = (await api.get("/api/overview")).json()
    assert overview["object_totals"] == {
        "connections": 0, "channels": 0, "consumers": 0, "exchanges": 7, "queues": 1,
    }  # fmt: skip
    assert overview["queue_totals"]["messages"] == 2
    ports = {row["protocol"]: row["port"] for row in overview["listeners"]}
    assert ports == {"amqp": server.amqp_port, "http": server.http_port}
    vhost = (await api.get("/api/vhosts/%2F")).json()
    assert vhost["messages_ready"] == 2


async def test_who_takes_bert_gets_json(api: httpx.AsyncClient) -> None:
    for accept in ("application/bert", "text/html, */*;q=0.1"):
        answer = await api.get("/api/whoami", headers={"accept": accept})
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["name"] == "guest"


async def test_head_has_no_body(api: httpx.AsyncClient) -> None:
    answer = await api.head("/api/overview")
    assert (answer.status_code, answer.content) == (200, b"")
