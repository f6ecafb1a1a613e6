"""``app.metrics`` of an app on a real broker: by queue and handler, by exchange, by connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit import App, Batch, Delivery, Drop, RejectReason, Settings, Stats, Temporary
from mqkit.metrics import ConsumerMetrics
from mqkit.supervision.states import State
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import Topology, loads

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


def topology(*queues: str, retry: str = "{after: [10ms], then: park}") -> Topology:
    """Queues that go away when nobody has used them for a minute."""
    lines = [f"  {queue}: {{retry: {retry}}}\n" for queue in queues]
    return loads("queues:\n" + "".join(lines))


def by_handler(app: App) -> dict[str, ConsumerMetrics]:
    return {each.handler.rpartition(".")[2]: each for each in app.metrics.consumers}


class Gate:
    """Lets a handler begin, and holds it there."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        await self.go_on.wait()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)


@pytest.fixture
def queues(unique: Callable[[str], str]) -> tuple[str, str]:
    names = unique("orders"), unique("mails")
    for name in names:  # remembered, to be deleted
        unique(f"{name}.parked")
    return names


async def test_each_handler_of_each_queue_is_told_apart(
    broker: Any, queues: tuple[str, str]
) -> None:
    orders, mails = queues
    app = App(broker.url, topology(*queues), metrics=True)
    gate = Gate()

    @app.consumer(orders, prefetch=7)
    async def pay(delivery: Delivery) -> None:
        if delivery.body == b"drop":
            raise Drop
        if delivery.body == b"fail":
            raise ValueError(delivery.body)

    @app.consumer(mails, concurrency=2)
    async def send(body: bytes) -> None:
        await gate()

    async with app:
        sent = datetime.now(UTC)
        for body in (b"ok", b"drop", b"fail"):
            assert await app.publish("", orders, body, timestamp=sent)
        assert await app.publish("", mails, b"")
        await gate.begun.wait()
        await until(lambda: app.stats.parked == 1)
        paid, sending = by_handler(app)["pay"], by_handler(app)["send"]
        assert (paid.queue, sending.queue) == (orders, mails)
        assert paid.stats == Stats(delivered=4, acked=1, dropped=1, retried=1, parked=1)
        assert (paid.in_flight, paid.prefetch, paid.consumers, paid.consuming) == (0, 7, 1, 1)
        assert (sending.in_flight, sending.prefetch) == (1, 20)
        assert paid.timings is not None
        assert sending.timings is not None
        assert paid.timings.attempts[:3] == (3, 1, 0)
        assert (paid.timings.failed, paid.timings.durations.count) == (2, 4)
        assert paid.timings.ages.count == 4
        assert paid.timings.ages.sum_s < 4 * WAIT_S
        assert (sending.timings.durations.count, sending.timings.ages.count) == (0, 0)
        assert app.metrics.app == app.stats
        gate.go_on.set()
        await until(lambda: by_handler(app)["send"].in_flight == 0)
    assert by_handler(app)["send"].stats.acked == 1
    assert by_handler(app)["send"].consumers == 0


async def test_counts_last_through_the_apps_ends_and_what_was_not_settled_does_not(
    broker: Any, queues: tuple[str, str]
) -> None:
    orders, _ = queues
    app = App(broker.url, topology(orders), drain_timeout="10ms")
    gate = Gate()

    @app.consumer(orders)
    async def pay(body: bytes) -> None:
        await gate()

    async with app:
        assert await app.publish("", orders, b"")
        await gate.begun.wait()
    (first,) = app.metrics.consumers
    assert (first.stats.delivered, first.stats.acked, first.in_flight) == (1, 0, 0)
    gate.go_on.set()
    async with app:
        await until(lambda: app.stats.acked == 1)
        (second,) = app.metrics.consumers
    assert (second.stats.delivered, second.in_flight, second.timings) == (2, 0, None)


async def test_a_batch_counts_its_messages(broker: Any, queues: tuple[str, str]) -> None:
    orders, _ = queues
    app = App(broker.url, topology(orders), metrics=True)

    @app.batch_consumer(orders, size=5, within="10s")
    async def store(batch: Batch[bytes]) -> None:
        batch.entries[0].park("bad")

    async with app:
        assert all(await app.publish_batch([app.message("", orders, b"") for _ in range(10)]))
        await until(lambda: app.stats.parked == 2)
        await until(lambda: by_handler(app)["store"].in_flight == 0)
    stored = by_handler(app)["store"]
    assert (stored.stats.acked, stored.stats.parked) == (8, 2)
    assert stored.timings is not None
    assert (stored.timings.durations.count, stored.timings.attempts[0]) == (2, 10)


async def test_temporary_queues_share_one_label(broker: Any) -> None:
    app = App(broker.url, metrics=True)

    def note(body: bytes) -> None: ...

    for _ in range(3):
        app.consumer(Temporary([("amq.topic", "cache.*")]))(note)
    async with app:
        await app.wait_ready(WAIT_S)
        assert await app.publish("amq.topic", "cache.x", b"")
        await until(lambda: app.stats.acked == 3)
        (noted,) = app.metrics.consumers
    assert (noted.queue, noted.consumers, noted.stats.acked) == ("temporary", 3, 3)


async def test_publishes_are_counted_by_exchange_and_outcome(
    broker: Any, queues: tuple[str, str], unique: Callable[[str], str]
) -> None:
    orders, _ = queues
    settings = Settings.load(urls=broker.url, max_message_bytes=100)
    async with App(topology=topology(orders), settings=settings, metrics=True) as app:
        assert await app.publish("", orders, b"")
        assert all(await app.publish_batch([app.message("", orders, b"")] * 3))
        assert not await app.publish("", unique("nowhere"), b"")
        assert not await app.publish("", orders, b"x" * 101)
        assert not await app.publish("amq.topic", "nobody", b"")
    found = {each.exchange: each for each in app.metrics.exchanges}
    assert set(found) == {"", "amq.topic"}
    plain = found[""]
    assert (plain.confirmed, plain.unknown, plain.confirm_latency.count) == (4, 0, 4)
    told = {reason: count for reason, count in plain.rejected.items() if count}
    assert told == {RejectReason.UNROUTABLE: 1, RejectReason.TOO_LARGE: 1}
    assert found["amq.topic"].rejected[RejectReason.UNROUTABLE] == 1


async def test_connections_are_counted(broker: Any) -> None:
    async with FaultyProxy.before(broker.url) as proxy:
        fast = Settings.load(urls=proxy.url, reconnect_first_s=0.01, reconnect_max_s=0.05)
        app = App(settings=fast)
        assert app.metrics.connection.state == "closed"
        async with app:
            await app.wait_ready(WAIT_S)
            assert (app.metrics.connection.connects, app.metrics.connection.losses) == (1, 0)
            proxy.cut()
            await until(lambda: app.metrics.connection.losses == 1)
            await app.wait_ready(WAIT_S)
            after = app.metrics.connection
            assert (after.state, after.connects) == (State.READY, 2)
        assert app.metrics.connection.state == "closed"
    assert app.metrics.is_measured is False
    assert app.metrics.exchanges == ()


async def test_metrics_are_read_on_any_thread(broker: Any, queues: tuple[str, str]) -> None:
    orders, _ = queues
    app = App(broker.url, topology(orders), metrics=True)

    @app.consumer(orders, concurrency=4)
    async def pay(body: bytes) -> None: ...

    async with app:
        publishing = app.publish_batch([app.message("", orders, b"") for _ in range(500)])
        reading = asyncio.to_thread(lambda: [app.metrics.app.acked for _ in range(500)])
        _, read = await asyncio.gather(publishing, reading)
        await until(lambda: app.stats.acked == 500)
    assert read == sorted(read), "a counter never falls"
