"""Publishing over HTTP: routed like any publish, and answered when it is safe."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import aio_pika
import httpx
import pytest

from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.broker import Broker
from reference_broker.http import Node, build_app
from reference_broker.http.request import core_input
from reference_broker.store import Log

pytestmark = pytest.mark.anyio

MESSAGE = {"properties": {}, "routing_key": "q", "payload": "x", "payload_encoding": "string"}
PERSISTENT = {**MESSAGE, "properties": {"delivery_mode": 2}}
DEFAULT = "/api/exchanges/%2F/amq.default/publish"
GET_ALL = {"count": 99, "ackmode": "ack_requeue_false", "encoding": "auto"}


class Shell:
    """A server without sockets and disk: the test says when the log is synced."""

    def __init__(self, limits: Limits | None = None) -> None:
        users = UserStore()
        users.add(User("guest", hash_password(b"guest", b"salt"), ("administrator",)))
        self.log = Log()
        self.broker = Broker(self.log, users, limits=limits)
        self.sync()

    def now(self) -> tuple[float, int]:
        return 1.0, 1_000

    def input_handled(self) -> None:
        """The test looks at the log itself."""

    def node(self) -> Node:
        return Node("test", 0, None, 0, ())

    def sync(self) -> None:
        batch = self.log.take_batch()
        if batch is not None:
            self.log.batch_synced(batch)
        self.broker.synced(self.log.synced, *self.now())

    def client(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(build_app(self), client=("127.0.0.1", 1))
        return httpx.AsyncClient(
            transport=transport, base_url="http://test", auth=("guest", "guest")
        )


@pytest.fixture
def shell() -> Shell:
    shell = Shell()
    shell.broker.vhosts["/"].declare_queue("q", durable=True)
    shell.sync()
    return shell


async def turns() -> None:
    """Everything that can go on without the disk has gone on."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"delivery_mode": 2, "priority": 7, "content_type": "text/plain"},
        {"headers": {"s": "x", "i": 1, "t": True, "f": 1.5, "l": [1, "x"], "o": {"a": 1}}},
        {"timestamp": 12345, "message_id": "m", "correlation_id": "c", "reply_to": "r"},
        {"type": "t", "app_id": "a", "content_encoding": "e", "expiration": "60000"},
        {"user_id": "guest", "not_a_property": 1},
    ],
)
async def test_a_message_comes_out_as_it_went_in(
    place: Any, unique: Callable[[str], str], properties: dict[str, Any]
) -> None:
    name = unique("q")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(name, auto_delete=True)
        wish = {"routing_key": name, "properties": properties, "payload_encoding": "base64"}
        body = b"\x00\xffoctets"
        answer = await place.api.post(
            DEFAULT, json={**wish, "payload": base64.b64encode(body).decode()}
        )
        assert (answer.status_code, answer.json()) == (200, {"routed": True})
        answer = await place.api.post(f"/api/queues/%2F/{name}/get", json=GET_ALL)
        (row,) = answer.json()
        properties.pop("not_a_property", None)
        assert row["properties"] == (properties or [])
        assert base64.b64decode(row["payload"]) == body
        await queue.delete(if_unused=False, if_empty=False)


async def test_nowhere_to_go(place: Any, unique: Callable[[str], str]) -> None:
    answer = await place.api.post(DEFAULT, json={**MESSAGE, "routing_key": unique("none")})
    assert (answer.status_code, answer.json()) == (200, {"routed": False})


async def test_a_queue_that_takes_no_more(place: Any, unique: Callable[[str], str]) -> None:
    name = unique("full")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel()
        arguments: dict[str, Any] = {"x-max-length": 0, "x-overflow": "reject-publish"}
        queue = await channel.declare_queue(name, auto_delete=True, arguments=arguments)
        answer = await place.api.post(DEFAULT, json={**MESSAGE, "routing_key": name})
        assert answer.status_code == 400
        assert answer.json()["reason"].startswith("rejected ")
        await queue.delete(if_unused=False, if_empty=False)


async def test_the_answer_waits_for_the_disk(shell: Shell) -> None:
    async with shell.client() as client:
        asking = asyncio.create_task(client.post(DEFAULT, json=PERSISTENT))
        await turns()
        assert shell.broker.vhosts["/"].queues["q"].ready == 1
        assert not asking.done()
        shell.sync()
        assert (await asking).json() == {"routed": True}


async def test_what_was_shown_and_removed_waits_too(shell: Shell) -> None:
    async with shell.client() as client:
        publishing = asyncio.create_task(client.post(DEFAULT, json=PERSISTENT))
        await turns()
        shell.sync()
        await publishing
        asking = asyncio.create_task(client.post("/api/queues/%2F/q/get", json=GET_ALL))
        await turns()
        assert not asking.done()
        shell.sync()
        assert len((await asking).json()) == 1


async def test_a_purge_waits_too(shell: Shell) -> None:
    async with shell.client() as client:
        publishing = asyncio.create_task(client.post(DEFAULT, json=PERSISTENT))
        await turns()
        shell.sync()
        await publishing
        asking = asyncio.create_task(client.delete("/api/queues/%2F/q/contents"))
        await turns()
        assert not asking.done()
        shell.sync()
        assert (await asking).status_code == 204


async def test_a_transient_message_waits_for_nothing(shell: Shell) -> None:
    shell.broker.vhosts["/"].declare_queue("other", durable=True)
    assert shell.log.synced < shell.log.tail
    async with shell.client() as client:
        assert (await client.post(DEFAULT, json=MESSAGE)).json() == {"routed": True}


async def test_a_disk_that_fails(shell: Shell) -> None:
    async with shell.client() as client:
        asking = asyncio.create_task(client.post(DEFAULT, json=PERSISTENT))
        await turns()
        shell.broker.disk_failed(*shell.now())
        answer = await asking
        assert (answer.status_code, answer.json()["error"]) == (500, "disk_failed")
        assert (await client.post(DEFAULT, json=PERSISTENT)).status_code == 500


async def test_a_disk_that_takes_too_long(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_input, "DISK_TIMEOUT_S", 0.0)
    async with shell.client() as client:
        answer = await client.post(DEFAULT, json=PERSISTENT)
        assert (answer.status_code, answer.json()["error"]) == (503, "not_confirmed")
    shell.sync()  # nobody waits any more, which is fine


async def test_an_alarm(shell: Shell) -> None:
    shell.broker.alarms.sound(Alarm.MEMORY)
    async with shell.client() as client:
        answer = await client.post(DEFAULT, json=MESSAGE)
        assert answer.status_code == 503
        assert answer.json() == {"error": "resource_alarm", "reason": "low on memory"}
        assert shell.broker.vhosts["/"].queues["q"].ready == 0
        shell.broker.alarms.clear(Alarm.MEMORY)
        assert (await client.post(DEFAULT, json=MESSAGE)).status_code == 200


async def test_publishing_sounds_the_alarm() -> None:
    shell = Shell(Limits(memory_high_watermark_bytes=1_000))
    shell.broker.vhosts["/"].declare_queue("q")
    async with shell.client() as client:
        statuses = [
            (await client.post(DEFAULT, json={**MESSAGE, "payload": "x" * 400})).status_code
            for _ in range(4)
        ]
    assert statuses[0] == 200
    assert statuses[-1] == 503


async def test_a_message_of_the_largest_size_and_one_more() -> None:
    shell = Shell(Limits(message_size_max=1_000))
    shell.broker.vhosts["/"].declare_queue("q")
    async with shell.client() as client:
        fits = base64.b64encode(bytes(1_000)).decode()
        wish = {**MESSAGE, "payload": fits, "payload_encoding": "base64"}
        assert (await client.post(DEFAULT, json=wish)).json() == {"routed": True}
        answer = await client.post(DEFAULT, json={**MESSAGE, "payload": "x" * 1_001})
        assert answer.status_code == 400
        assert answer.json()["reason"] == (
            "406 PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000"
        )


@pytest.mark.parametrize(
    "change",
    [
        {"routing_key": 5},
        {"routing_key": "x" * 256},
        {"routing_key": "\ud800"},
        {"payload": "\ud800"},
        {"properties": {"priority": 256}},
        {"properties": {"priority": True}},
        {"properties": {"message_id": "x" * 256}},
        {"properties": {"headers": "x"}},
        {"properties": {"headers": {"big": 10**30}}},
        {"properties": {"headers": {"x" * 256: 1}}},
        {"properties": "x"},
    ],
)
async def test_what_no_message_can_have(shell: Shell, change: dict[str, Any]) -> None:
    async with shell.client() as client:
        answer = await client.post(DEFAULT, content=json.dumps({**MESSAGE, **change}))
        assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")


async def test_what_a_delayed_exchange_holds_is_counted(shell: Shell) -> None:
    vhost = shell.broker.vhosts["/"]
    arguments = {"x-delayed-type": "fanout"}
    vhost.declare_exchange("later", "x-delayed-message", arguments=arguments)
    vhost.bind("later", "q", "", destination_is_queue=True)
    message = {**MESSAGE, "properties": {"headers": {"x-delay": 5000}}}
    async with shell.client() as client:
        answer = await client.post("/api/exchanges/%2F/later/publish", json=message)
        assert answer.json() == {"routed": True}
        row = (await client.get("/api/exchanges/%2F/later")).json()
        assert (row["messages_delayed"], row["message_bytes_delayed"]) == (1, 1)
        assert row["memory"] > 1
        assert "messages_delayed" not in (await client.get("/api/exchanges/%2F/amq.topic")).json()
        assert (await client.get("/api/queues/%2F/q")).json()["messages"] == 0
