"""Probes of an app on a real broker: ready, not ready and why not, live and not live."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mqkit import App, ConfigurationError, Settings
from mqkit.declaration import Queue
from mqkit.health import Fault
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import Topology, loads
from mqkit.transport.native import NativeTransport
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


def settings(url: str, **options: Any) -> Settings:
    chosen = {"reconnect_first_s": 0.01, "reconnect_max_s": 0.05, "health": "127.0.0.1:0"}
    return Settings.load(urls=url, **{**chosen, **options})


def one_queue(name: str, more: str = "") -> Topology:
    return loads(f"queues:\n  {name}: {{expires: 1m{more}}}\n")


def probe(app: App, path: str) -> tuple[int, Any]:
    """From another thread or process it would be the same: a socket of this machine."""
    found = httpx.get(f"http://{app.health_address}{path}", trust_env=False, timeout=WAIT_S)
    return found.status_code, found.json()


async def probed(app: App, path: str = "/ready") -> tuple[int, Any]:
    return await asyncio.to_thread(probe, app, path)


async def faults(app: App) -> set[str]:
    """The faults that ``/ready`` tells."""
    status, body = await probed(app)
    assert (status == 200) is body["ready"] is (not body["reasons"])
    return {reason["fault"] for reason in body["reasons"]}


async def until(app: App, wanted: set[Fault]) -> None:
    async with asyncio.timeout(WAIT_S):
        while await faults(app) != wanted:
            pass


async def test_it_is_ready_when_all_is_set_up_and_not_during_a_cut(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    async with FaultyProxy.before(broker.url) as proxy:
        app = App(topology=one_queue(queue), settings=settings(proxy.url))

        @app.consumer(queue)
        async def pay(body: bytes) -> None: ...

        assert app.health().reasons[0].fault is Fault.NOT_RUNNING
        assert app.health_address is None
        async with app:
            await app.wait_ready(WAIT_S)
            assert await probed(app) == (
                200,
                {"live": True, "ready": True, "reasons": [], "more": 0},
            )
            proxy.refuse()
            proxy.cut()
            await until(app, {Fault.NOT_CONNECTED})
            assert (await probed(app, "/live")) == (200, {"live": True})
            assert not app.health().is_ready
            proxy.accept()
            await until(app, set())
            assert app.health().is_ready
            host, _, port = (app.health_address or "").partition(":")
        assert app.health_address is None
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))


async def test_a_handler_that_blocks_the_loop_shows_as_not_live(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    app = App(topology=one_queue(queue), settings=settings(broker.url, health_live_s=2.0))
    begun, seen, found = threading.Event(), threading.Event(), list[Any]()

    @app.consumer(queue)
    async def pay(body: bytes) -> None:
        begun.set()
        assert seen.wait(WAIT_S), "nobody saw it"

    def look() -> None:
        begun.wait(WAIT_S)
        while (live := probe(app, "/live"))[0] == 200:
            pass
        found.extend((live, probe(app, "/ready")))
        seen.set()

    async with app:
        looking = threading.Thread(target=look)
        looking.start()
        assert await app.publish("", queue, b"")
        await asyncio.to_thread(looking.join)
        (live, (status, body)) = found
        assert live == (503, {"live": False})
        assert (status, body["reasons"][0]["fault"]) == (503, Fault.LOOP_BLOCKED)
        await until(app, set())


async def test_an_object_that_the_broker_refuses_is_told(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    connection = await NativeTransport().connect(parse(broker.url), name="x", timeout_s=WAIT_S)
    channel = await connection.channel()
    await channel.declare_queue(Queue(queue))
    async with App(topology=one_queue(queue), settings=settings(broker.url)) as app:
        await app.wait_ready(WAIT_S)
        status, body = await probed(app)
        assert (status, body["reasons"]) == (
            503,
            [
                {
                    "fault": "not declared",
                    "name": f"queue {queue}",
                    "text": f"queue {queue} is not declared: the broker answers 406",
                }
            ],
        )
    await connection.close()


async def test_a_consumer_without_its_queue_is_told_and_a_paused_one_is_not(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue, missing = unique("orders"), unique("missing")
    app = App(topology=one_queue(queue), settings=settings(broker.url))

    @app.consumer(queue)
    async def pay(body: bytes) -> None: ...

    async with app:
        await app.wait_ready(WAIT_S)
        await app.queue(queue).pause()
        assert await faults(app) == set()
        app.consumer(missing)(pay)
        await until(app, {Fault.NOT_CONSUMING})
        _, body = await probed(app)
        assert [reason["name"] for reason in body["reasons"]] == [missing]
        await app.queue(missing).remove()
        await until(app, set())


async def test_a_broker_that_blocks_for_long_is_told(broker: Any) -> None:
    async with FaultyProxy.before(broker.url) as proxy:
        patient = settings(proxy.url, health_blocked_s=3600)
        async with (
            App(settings=settings(proxy.url, health_blocked_s=0.05)) as app,
            App(settings=patient) as other,
        ):
            await app.wait_ready(WAIT_S)
            await other.wait_ready(WAIT_S)
            proxy.block()
            await until(app, {Fault.BLOCKED})
            assert other.metrics.connection.blocked_for_s > 0
            assert await faults(other) == set()
            proxy.unblock()
            await until(app, set())


async def test_a_consumer_that_makes_no_progress_is_told(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    app = App(topology=one_queue(queue), settings=settings(broker.url, health_stalled_s=0.05))
    go_on = asyncio.Event()

    @app.consumer(queue)
    async def pay(body: bytes) -> None:
        await go_on.wait()

    async with app:
        assert await app.publish("", queue, b"the secret of a message")
        await until(app, {Fault.NO_PROGRESS})
        assert "secret" not in json.dumps(await probed(app))
        go_on.set()
        await until(app, set())


async def test_neither_url_nor_password_is_in_a_reason(broker: Any, unused_port: int) -> None:
    place = f"amqp://customer:geheim@127.0.0.1:{unused_port}/"
    async with App(settings=settings(place)) as app:
        status, body = await probed(app)
        assert (status, body["reasons"][0]["fault"]) == (503, "not connected")
        for word in ("geheim", "customer", str(unused_port), "amqp"):
            assert word not in json.dumps(body)


async def test_an_address_that_is_taken_ends_the_start_and_the_app_starts_later(
    broker: Any,
) -> None:
    async with App(settings=settings(broker.url)) as first:
        second = App(broker.url, health=first.health_address)
        with pytest.raises(ConfigurationError, match="nobody can listen there"):
            async with second:
                pass
    async with second:
        assert second.health_address is not None


async def test_probes_are_there_until_the_last_handler_is_done(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    app = App(topology=one_queue(queue), settings=settings(broker.url))
    begun, found = asyncio.Event(), list[Any]()

    @app.consumer(queue)
    async def pay(body: bytes) -> None:
        begun.set()
        while (answer := await probed(app))[0] == 200:
            pass
        found.append(answer[1]["reasons"][0]["fault"])

    async with app:
        assert await app.publish("", queue, b"")
        await begun.wait()
    assert found == [Fault.STOPPING]


def test_an_address_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_HEALTH", "127.0.0.1:0")
    app = App()
    assert app.settings.health == "127.0.0.1:0"
    assert app.metrics.is_measured, "its /metrics show it"
    assert not App(metrics=False).metrics.is_measured
    with pytest.raises(ConfigurationError, match="does not say who may connect"):
        App(health=":8080")
