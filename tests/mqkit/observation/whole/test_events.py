"""Functions of ``@app.observe`` on a real broker: told every state, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import mqkit
from mqkit import App, CircuitChanged, ConnectionChanged, ConsumerChanged, Event, Settings
from mqkit.declaration import Queue
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import Topology, loads
from mqkit.transport.native import NativeTransport
from mqkit.url import parse

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


def one_queue(name: str) -> Topology:
    return loads(f"queues:\n  {name}: {{expires: 1m}}\n")


class Told:
    """The events that an app's function is told, by their kinds."""

    def __init__(self, app: App) -> None:
        self._events: list[Event] = []
        self._news = asyncio.Event()
        app.observe(self.add)

    async def add(self, event: Event) -> None:
        self._events.append(event)
        self._news.set()

    def states(self, kind: type[Any]) -> list[str]:
        """The states that events of one kind came to."""
        return [str(event.after) for event in self.of(kind)]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self._events if isinstance(event, kind)]

    async def until(self, kind: type[Any], number: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(self.of(kind)) < number:
                self._news.clear()
                await self._news.wait()


async def test_every_state_of_connection_and_consumer_is_told_in_order(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    async with FaultyProxy.before(broker.url) as proxy:
        fast = Settings.load(urls=proxy.url, reconnect_first_s=0.01, reconnect_max_s=0.05)
        app = App(topology=one_queue(queue), settings=fast)
        told = Told(app)

        @app.consumer(queue)
        async def pay(body: bytes) -> None: ...

        async with app:
            await told.until(ConnectionChanged, 3)
            proxy.cut()
            await told.until(ConnectionChanged, 6)
            await app.queue(queue).pause()
            await app.queue(queue).resume()
    assert told.states(ConnectionChanged) == [
        *("connecting", "declaring", "ready"),
        *("connecting", "declaring", "ready"),
        *("draining", "closed"),
    ]
    assert told.states(ConsumerChanged) == [
        *("subscribing", "consuming", "idle"),
        *("subscribing", "consuming", "paused", "idle"),
        *("subscribing", "consuming", "draining", "stopped"),
    ]
    before = ["closed", *told.states(ConnectionChanged)[:-1]]
    assert [str(event.before) for event in told.of(ConnectionChanged)] == before
    assert "connection is gone" in told.of(ConnectionChanged)[3].why
    names = {(event.queue, event.handler.rpartition(".")[2]) for event in told.of(ConsumerChanged)}
    assert names == {(queue, "pay")}
    assert [event.declared for event in told.of(mqkit.TopologyDeclared)][:2] == [1, 1]


async def test_what_the_broker_refuses_and_cancels_is_told(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue, other = unique("orders"), unique("others")
    outside = await NativeTransport().connect(parse(broker.url), name="x", timeout_s=WAIT_S)
    channel = await outside.channel()
    await channel.declare_queue(Queue(queue))
    await channel.declare_queue(Queue(other))
    app = App(broker.url, one_queue(queue))
    told = Told(app)

    @app.consumer(other)
    async def pay(body: bytes) -> None: ...

    async with app:
        await app.wait_ready(WAIT_S)
        await told.until(ConsumerChanged, 2)
        await channel.delete_queue(other)
        await told.until(ConsumerChanged, 3)
    declared = told.of(mqkit.TopologyDeclared)[0]
    (refused,) = declared.refused
    assert (declared.declared, refused.name, refused.reply_code) == (0, f"queue {queue}", 406)
    lost = told.of(ConsumerChanged)[2]
    assert (lost.after, lost.why) == ("idle", "the broker cancelled it")
    await outside.close()


async def test_a_circuit_that_opens_and_closes_is_told(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    app = App(broker.url, one_queue(queue))
    attempts = 0

    @app.consumer(queue)
    async def pay(body: bytes) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise mqkit.Unavailable("the bank is closed")

    async with app:
        await app.wait_ready(WAIT_S)
        told = Told(app)  # also of what was there before
        assert await app.publish("", queue, b"")
        await told.until(CircuitChanged, 3)
    assert told.states(CircuitChanged) == ["open", "half-open", "closed"]
    assert [event.why for event in told.of(CircuitChanged)] == ["the bank is closed", "", ""]


async def test_one_that_raises_is_logged_and_told_the_next(
    broker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(broker.url)
    told: list[str] = []

    @app.observe
    def fails(event: Event) -> None:
        assert isinstance(event, ConnectionChanged | mqkit.TopologyDeclared)
        told.append(type(event).__name__)
        raise ValueError("no")

    async with app:
        await app.wait_ready(WAIT_S)
    assert told[:2] == ["ConnectionChanged", "ConnectionChanged"]
    assert len(told) == 6
    assert app.observe.failed == 6
    assert "the observe function" in caplog.text
