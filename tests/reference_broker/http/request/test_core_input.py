"""A request that waits for what is on disk, with a disk that answers when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mqkit.wire import Properties
from mqkit.wire.methods import ConnectionCloseOk, QueueDeclare
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.queue.queue import Queue
from reference_broker.http.request import core_input
from reference_broker.http.request.host import Node
from reference_broker.http.serving.app import build_app
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.lone_queue import delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

pytestmark = pytest.mark.anyio

LOGIN = ("operator", "secret")


class DiskHost:
    """A host whose broker has messages on disk. ``handled`` is told of every input."""

    def __init__(self) -> None:
        self.journal = RecordingJournal()
        self.lone = LoneBroker(self.journal)
        self.broker = self.lone.broker
        self.broker.window.size_bytes = 1
        password = hash_password(LOGIN[1].encode(), b"salt")
        self.broker.users.add(User(LOGIN[0], password, ("administrator",)))
        self.broker.access.allow_everything(LOGIN[0], "/")
        self.handled = asyncio.Event()
        self.client = client = self.lone.client()
        client.send(1, QueueDeclare("q", durable=True))
        self.lone.sync()
        for body in (b"a", b"b", b"c"):
            client.publish("q", body, properties=Properties(delivery_mode=2))
        self.lone.sync()

    @property
    def queue(self) -> Queue:
        return self.broker.vhosts["/"].queues["q"]

    def now(self) -> tuple[float, int]:
        return self.lone.now_s, self.lone.wall_ms

    def input_handled(self) -> None:
        self.handled.set()

    def node(self) -> Node:
        return Node("n", 0, None, 0, ())

    def answer(self) -> None:
        self.broker.fetched([self.journal.answer()], *self.now())

    async def close_everybody(self) -> httpx.Response:
        transport = httpx.ASGITransport(build_app(self))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://broker", auth=LOGIN
        ) as api:
            return await api.delete("/api/connections/username/guest")

    async def get(self, count: int, ackmode: str = "ack_requeue_true") -> httpx.Response:
        transport = httpx.ASGITransport(build_app(self))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://broker", auth=LOGIN
        ) as api:
            wanted = {"count": count, "ackmode": ackmode, "encoding": "auto"}
            return await api.post("/api/queues/%2F/q/get", json=wanted)

    async def asked(self, count: int, ackmode: str = "ack_requeue_true") -> asyncio.Task[Any]:
        """A request that has got what is in memory, and waits for the rest."""
        request = asyncio.create_task(self.get(count, ackmode))
        await self.handled.wait()
        assert not request.done()
        assert self.queue.unacked == 1
        return request


async def test_what_is_on_disk_is_shown_when_it_has_been_read() -> None:
    host = DiskHost()
    request = await host.asked(5)
    host.answer()
    rows = (await request).json()
    assert [(row["payload"], row["message_count"]) for row in rows] == [
        ("a", 2),
        ("b", 1),
        ("c", 0),
    ]
    assert (host.queue.ready, host.queue.unacked) == (3, 0)


async def test_what_is_removed_is_answered_when_that_is_on_disk() -> None:
    host = DiskHost()
    request = await host.asked(2, "ack_requeue_false")
    host.handled.clear()
    host.answer()
    await host.handled.wait()
    assert host.queue.unacked == 0
    host.lone.sync()
    assert [row["payload"] for row in (await request).json()] == ["a", "b"]
    assert len(host.journal.live()) == 1


async def test_a_client_that_leaves_while_it_waits_takes_nothing_with_it() -> None:
    host = DiskHost()
    request = await host.asked(5)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    host.answer()
    assert (host.queue.ready, host.queue.unacked) == (3, 0)


@pytest.mark.parametrize(("lose", "ready"), [(purge_now, 1), (delete_now, 0)])
async def test_what_is_gone_meanwhile_is_not_waited_for(
    lose: Callable[[Queue], Any], ready: int
) -> None:
    host = DiskHost()
    request = await host.asked(5)
    queue = host.queue
    host.broker.begin(*host.now())
    lose(queue)
    host.broker.finish()
    host.answer()
    assert [row["payload"] for row in (await request).json()] == ["a"]
    assert (queue.ready, queue.unacked) == (ready, 0)


async def test_a_disk_that_does_not_answer_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core_input, "DISK_TIMEOUT_S", 0.01)
    host = DiskHost()
    answer = await host.get(5)
    assert (answer.status_code, answer.json()["error"]) == (503, "not_read")
    assert (host.queue.ready, host.queue.unacked) == (3, 0)


async def test_a_queue_says_what_of_it_is_in_memory() -> None:
    host = DiskHost()
    host.queue.lost = 4
    transport = httpx.ASGITransport(build_app(host))
    async with httpx.AsyncClient(transport=transport, base_url="http://broker", auth=LOGIN) as api:
        row = (await api.get("/api/queues/%2F/q")).json()
    assert (row["messages"], row["messages_ram"], row["messages_ready_ram"]) == (3, 1, 1)
    assert (row["messages_paged_out"], row["message_bytes_paged_out"]) == (2, 2)
    assert (row["message_bytes_ram"], row["messages_unacknowledged_ram"]) == (1, 0)
    assert row["messages_lost"] == 4
    assert 0 < row["memory"] < 1000


async def test_a_closed_connection_is_waited_for_until_its_client_has_answered() -> None:
    host = DiskHost()
    request = asyncio.create_task(host.close_everybody())
    await host.handled.wait()
    assert not request.done()
    assert host.broker.connections
    host.client.send(0, ConnectionCloseOk())
    assert (await request).status_code == 204
    assert not host.broker.connections


async def test_a_client_that_does_not_answer_is_not_waited_for_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core_input, "END_TIMEOUT_S", 0.01)
    host = DiskHost()
    assert (await host.close_everybody()).status_code == 204
    assert host.broker.connections
