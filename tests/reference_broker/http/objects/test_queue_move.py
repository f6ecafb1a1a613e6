"""``POST /api/queues/{vhost}/{name}/move``: what is answered is on disk, also after a restart."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import QueueDeclare
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.alarms import Alarm
from reference_broker.http import build_app
from reference_broker.http.objects import queue_move
from reference_broker.http.request.host import Node
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.recording_journal import RecordingJournal

pytestmark = pytest.mark.anyio

BODIES = ["one", "two", "three"]
EVERY_KEY = {"delivery_mode": 2, "headers": {"n": 1}, "message_id": "m"}


@pytest.fixture
async def queues(server: Server, api: httpx.AsyncClient) -> None:
    """``q`` with three persistent messages, and ``other``, which is empty."""
    server.broker.begin(*server.now())
    vhost = server.broker.vhosts["/"]
    for name in ("q", "other"):
        vhost.declare_queue(
            name, durable=True, exclusive=False, auto_delete=False, arguments={}, owner=None
        )
    server.broker.finish()
    for body in BODIES:
        message = {"properties": EVERY_KEY, "payload": body, "payload_encoding": "string"}
        answer = await api.post(
            "/api/exchanges/%2F/amq.default/publish", json={**message, "routing_key": "q"}
        )
        assert answer.json() == {"routed": True}


async def move(api: httpx.AsyncClient, **wanted: Any) -> Any:
    answer = await api.post("/api/queues/%2F/q/move", json={"destination": "other", **wanted})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def payloads(api: httpx.AsyncClient, queue: str) -> list[str]:
    body = {"count": 99, "ackmode": "ack_requeue_true", "encoding": "auto"}
    answer = await api.post(f"/api/queues/%2F/{queue}/get", json=body)
    return [message["payload"] for message in answer.json()]


class DiskHost:
    """A host with a message in ``q``, whose test says when the log is synced."""

    def __init__(self) -> None:
        self.lone = LoneBroker(RecordingJournal())
        self.broker = self.lone.broker
        password = hash_password(b"guest", b"salt")
        self.broker.users.add(User("guest", password, ("administrator",)))
        self.handled = asyncio.Event()
        client = self.lone.client()
        for name in ("q", "other"):
            client.send(1, QueueDeclare(name, durable=True))
            self.lone.sync()
        client.publish("q", b"one", properties=Properties(delivery_mode=2))
        self.lone.sync()

    def now(self) -> tuple[float, int]:
        return self.lone.now_s, self.lone.wall_ms

    def input_handled(self) -> None:
        self.handled.set()

    def node(self) -> Node:
        return Node("n", 0, None, 0, ())


async def test_the_answer_waits_for_the_disk() -> None:
    host = DiskHost()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(build_app(host)),
        base_url="http://broker",
        auth=("guest", "guest"),
    ) as api:
        asking = asyncio.create_task(move(api))
        await host.handled.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        assert host.broker.vhosts["/"].queues["other"].ready == 1
        assert not asking.done()
        host.lone.sync()
        assert (await asking)["moved"] == 1


async def test_some(api: httpx.AsyncClient, queues: None) -> None:
    assert await move(api, count=2) == {"moved": 2, "messages_ready": 1, "stopped": "count"}
    assert await payloads(api, "q") == ["three"]
    assert await payloads(api, "other") == ["one", "two"]


async def test_all_survive_a_restart(
    server: Server, api: httpx.AsyncClient, queues: None, tmp_path: Path
) -> None:
    assert await move(api) == {"moved": 3, "messages_ready": 0, "stopped": "count"}
    await server.stop()
    again = Server(ServerConfig(amqp=Address("127.0.0.1", 0), data_dir=tmp_path / "data"))
    await again.start()
    try:
        found = again.broker.vhosts["/"].queues
        assert (found["q"].ready, found["other"].ready) == (0, 3)
    finally:
        await again.stop()


async def test_messages_that_are_on_disk_only_are_read_first(
    server: Server, api: httpx.AsyncClient, queues: None, tmp_path: Path
) -> None:
    await server.stop()
    again = Server(
        ServerConfig(
            amqp=Address("127.0.0.1", 0), http=Address("127.0.0.1", 0), data_dir=tmp_path / "data"
        )
    )
    await again.start()
    try:
        assert again.broker.vhosts["/"].queues["q"].backlog.absent == 3
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{again.http_port}", auth=("guest", "guest"), trust_env=False
        ) as client:
            assert (await move(client))["moved"] == 3
            assert await payloads(client, "other") == BODIES
    finally:
        await again.stop()


async def test_one_request_has_a_bound(
    api: httpx.AsyncClient, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_move, "MOVE_MESSAGES_MAX", 2)
    assert await move(api, count=99) == {"moved": 2, "messages_ready": 1, "stopped": "count"}
    monkeypatch.setattr(queue_move, "MOVE_BYTES_MAX", 1)
    assert await move(api, count=99) == {"moved": 1, "messages_ready": 0, "stopped": "count"}


async def test_many_messages_are_moved_in_portions(
    api: httpx.AsyncClient, queues: None, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_move, "INPUT_MESSAGES", 1)
    moved: list[int] = []
    finish, other = server.broker.finish, server.broker.vhosts["/"].queues["other"]

    def counted() -> None:
        finish()
        moved.append(other.ready)

    monkeypatch.setattr(server.broker, "finish", counted)
    assert await move(api) == {"moved": 3, "messages_ready": 0, "stopped": "count"}
    assert {1, 2, 3} <= set(moved)
    assert max(after - before for before, after in pairwise([0, *moved])) == 1


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({}, 400, "[{key_missing,destination}]"),
        ({"destination": 7}, 400, ["not_string", "destination"]),
        ({"destination": "q"}, 400, "a queue can't be moved into itself"),
        ({"destination": "other", "count": 0}, 400, ["not_positive_integer", "count"]),
        ({"destination": "other", "count": True}, 400, ["not_positive_integer", "count"]),
        ({"destination": "no"}, 400, "404 NOT_FOUND - no queue 'no' in vhost '/'"),
    ],
)
async def test_refusals(
    api: httpx.AsyncClient, queues: None, body: Any, status: int, reason: Any
) -> None:
    answer = await api.post("/api/queues/%2F/q/move", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert await payloads(api, "q") == BODIES


async def test_no_such_source(api: httpx.AsyncClient) -> None:
    answer = await api.post("/api/queues/%2F/no/move", json={"destination": "other"})
    assert answer.status_code == 404


async def test_refused_while_an_alarm_is_on(
    server: Server, api: httpx.AsyncClient, queues: None
) -> None:
    server.broker.alarms.sound(Alarm.DISK)
    answer = await api.post("/api/queues/%2F/q/move", json={"destination": "other"})
    assert (answer.status_code, answer.json()["error"]) == (503, "resource_alarm")
    assert await payloads(api, "q") == BODIES
