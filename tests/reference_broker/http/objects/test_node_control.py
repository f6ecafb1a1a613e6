"""Control of the node over HTTP, against a server on the network."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import MIB
from reference_broker.http.objects.node_control import machine_bytes
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    config = ServerConfig(
        amqp=Address("127.0.0.1", 0),
        http=Address("127.0.0.1", 0),
        data_dir=tmp_path / "data",
        users=(
            UserConfig("guest", "guest", ("administrator",)),
            UserConfig("looker", "looker", ("monitoring",)),
        ),
    )
    server = Server(config)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def api(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    base = f"http://127.0.0.1:{server.http_port}/api/nodes/{server.node().name}"
    async with httpx.AsyncClient(base_url=base, auth=("guest", "guest"), trust_env=False) as client:
        yield client


async def connects(server: Server) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.amqp_port)
    except OSError:
        return False
    writer.write(PROTOCOL_HEADER)
    answered = bool(await reader.read(1))
    writer.close()
    return answered


async def shown(api: httpx.AsyncClient) -> dict[str, Any]:
    """The node, as the API has it."""
    node: dict[str, Any] = (await api.get(str(api.base_url).rstrip("/"))).json()
    return node


async def test_a_paused_node_closes_its_connections_and_takes_none(
    server: Server, api: httpx.AsyncClient
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.amqp_port)
    writer.write(PROTOCOL_HEADER)
    assert await reader.read(1)
    for _ in range(2):  # the second time nothing is left to do
        assert (await api.put("/running", json={"running": False})).status_code == 204
        assert not await connects(server)
        assert (await shown(api))["running"] is False
    assert server.broker.connections == {}
    for _ in range(2):
        assert (await api.put("/running", json={"running": True})).status_code == 204
        assert await connects(server)
        assert (await shown(api))["running"] is True
    writer.close()


async def _in_service(api: httpx.AsyncClient) -> int:
    url = str(api.base_url).partition("/api/")[0] + "/api/health/checks/is-in-service"
    answer = await api.get(url)
    assert (answer.json()["status"] == "ok") == (answer.status_code == 200)
    return answer.status_code


async def _has_listeners(server: Server, api: httpx.AsyncClient) -> list[bool]:
    """True for each of the older checks that passes, which look for AMQP's listener."""
    url = str(api.base_url).partition("/api/")[0] + "/api"
    checks = (
        f"health/checks/port-listener/{server.amqp_port}",
        "health/checks/protocol-listener/amqp",
        "healthchecks/node",
    )
    return [(await api.get(f"{url}/{check}")).status_code == 200 for check in checks]


async def test_a_draining_node_closes_its_connections_and_takes_none_until_it_is_revived(
    server: Server, api: httpx.AsyncClient
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.amqp_port)
    writer.write(PROTOCOL_HEADER)
    assert await reader.read(1)
    for _ in range(2):
        assert (await api.put("/draining", json={"draining": True})).status_code == 204
        assert not await connects(server)
        node = await shown(api)
        assert (node["running"], node["being_drained"]) == (True, True)
        assert await _in_service(api) == 503
        assert await _has_listeners(server, api) == [True] * 3, "as in RabbitMQ 3.10 and 4"
    assert server.broker.connections == {}
    for _ in range(2):
        assert (await api.put("/draining", json={"draining": False})).status_code == 204
        assert await connects(server)
        assert (await shown(api))["being_drained"] is False
        assert await _in_service(api) == 200
    writer.close()


async def test_a_node_takes_clients_when_it_is_neither_paused_nor_draining(
    server: Server, api: httpx.AsyncClient
) -> None:
    await api.put("/draining", json={"draining": True})
    await api.put("/running", json={"running": False})
    await api.put("/draining", json={"draining": False})
    assert not await connects(server)
    assert await _in_service(api) == 503
    assert server.node().paused_for == "an operator has stopped it (stop_app)"
    assert await _has_listeners(server, api) == [False] * 3
    await api.put("/draining", json={"draining": True})
    await api.put("/running", json={"running": True})
    assert not await connects(server)
    await api.put("/draining", json={"draining": False})
    assert await connects(server)
    assert (await api.put("/draining", json={"draining": 1})).status_code == 400


async def test_a_port_that_somebody_else_has_taken_is_said(
    server: Server, api: httpx.AsyncClient
) -> None:
    await api.put("/draining", json={"draining": True})
    with socket.create_server(("127.0.0.1", server.amqp_port)):
        answer = await api.put("/draining", json={"draining": False})
        assert (answer.status_code, answer.json()["error"]) == (503, "not_listening")
        assert (await shown(api))["being_drained"] is True
    assert (await api.put("/draining", json={"draining": False})).status_code == 204


async def test_health_checks_of_a_paused_node_say_so(
    server: Server, api: httpx.AsyncClient
) -> None:
    base = str(api.base_url).partition("nodes")[0]
    paths = (
        f"health/checks/port-listener/{server.amqp_port}",
        "health/checks/protocol-listener/amqp",
        "healthchecks/node",
    )
    for running, status in ((True, 200), (False, 503), (True, 200)):
        await api.put("/running", json={"running": running})
        answers = [await api.get(base + path) for path in paths]
        assert [answer.status_code for answer in answers] == [status] * 3
        assert (await api.get(base + "health/checks/protocol-listener/http")).status_code == 200


async def test_a_paused_node_can_be_stopped(server: Server, api: httpx.AsyncClient) -> None:
    await api.put("/running", json={"running": False})
    await server.stop()
    await server.stop()


@pytest.mark.parametrize(
    ("limit", "alarmed"),
    [
        ({"relative": 0.000000001}, True),
        ({"absolute": 0}, True),
        ({"relative": 0.4}, False),
        ({"absolute": 64 * 1024 * MIB}, False),
    ],
)
async def test_another_memory_watermark(
    server: Server, api: httpx.AsyncClient, limit: dict[str, float], alarmed: bool
) -> None:
    answer = await api.put("/vm-memory-high-watermark", json=limit)
    assert answer.status_code == 204
    assert (Alarm.MEMORY in server.broker.alarms.on) is alarmed
    node = await shown(api)
    assert node["mem_alarm"] is alarmed
    relative = int(limit.get("relative", 0) * machine_bytes())
    assert node["mem_limit"] == limit.get("absolute", relative)
    await api.put("/vm-memory-high-watermark", json={"relative": 0.4})
    assert Alarm.MEMORY not in server.broker.alarms.on


async def test_another_disk_free_limit(server: Server, api: httpx.AsyncClient) -> None:
    status = os.statvfs(server.node().data_dir or Path.cwd())
    everything = status.f_blocks * status.f_frsize + 1
    for limit, alarmed in ((everything, True), (0, False)):
        answer = await api.put("/disk-free-limit", json={"absolute": limit})
        assert answer.status_code == 204
        assert (Alarm.DISK in server.broker.alarms.on) is alarmed
        assert (await shown(api))["disk_free_limit"] == limit


async def test_an_alarm_that_an_operator_holds(server: Server, api: httpx.AsyncClient) -> None:
    assert (await api.put("/alarms", json={"memory": True, "disk": True})).status_code == 204
    assert server.broker.alarms.on == [Alarm.MEMORY, Alarm.DISK]
    await api.put("/vm-memory-high-watermark", json={"relative": 0.4})
    assert (await shown(api))["mem_alarm"] is True, "nothing that is measured ends it"
    assert (await api.put("/alarms", json={"memory": False})).status_code == 204
    assert server.broker.alarms.on == [Alarm.DISK]
    await api.put("/alarms", json={"disk": False})
    assert server.broker.alarms.on == []


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/alarms", {}),
        ("/alarms", {"memory": 1}),
        ("/running", {"running": "no"}),
        ("/running", {}),
        ("/vm-memory-high-watermark", {"relative": 1.5}),
        ("/vm-memory-high-watermark", {"relative": "much"}),
        ("/vm-memory-high-watermark", {}),
        ("/disk-free-limit", {"absolute": -1}),
        ("/disk-free-limit", {"absolute": True}),
    ],
)
async def test_what_makes_no_sense_is_refused(
    api: httpx.AsyncClient, path: str, document: dict[str, object]
) -> None:
    assert (await api.put(path, json=document)).status_code == 400
    assert (await shown(api))["running"] is True


async def test_only_an_administrator_may_and_only_this_node(
    server: Server, api: httpx.AsyncClient
) -> None:
    answer = await api.put("/running", json={"running": False}, auth=("looker", "looker"))
    assert answer.status_code == 401
    base = f"http://127.0.0.1:{server.http_port}/api/nodes/another"
    assert (await api.put(base + "/running", json={"running": False})).status_code == 404
    assert await connects(server)
