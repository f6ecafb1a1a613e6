"""Changes by hand under a running app: told by name and field, and mended where they can be."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit import App
from mqkit.declaration import Binding, Exchange, Queue
from mqkit.drift import Done, DriftKind

pytestmark = pytest.mark.anyio

TOPOLOGY = """
exchanges:
  P.x: {type: topic}
queues:
  P.q: {bind: [{from: P.x, key: a}], retry: {after: [1m], then: park}}
  P.r: {message_ttl: 10s}
"""


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
@pytest.mark.parametrize("look", ["amqp", "management"])
@pytest.mark.parametrize("suffix", ["q", "q.retry.1m", "q.parked"])
async def test_a_deleted_queue_tier_or_lot_is_there_again(
    yard: Any, transport: str, look: str, suffix: str
) -> None:
    app: App = yard.app(TOPOLOGY, look=look, transport=transport)
    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.delete_queue(f"{yard.prefix}.{suffix}")
        # A look that has listed the queues before and the bindings after tells a binding first.
        drift = await yard.told.the(DriftKind.MISSING, f"{yard.prefix}.{suffix}")
        others = {each.object_kind for each in yard.told.drifts if each is not drift}
        assert (drift.object_kind, drift.done) == ("queue", Done.DECLARED)
        assert others <= {"binding"}
        # It is bound again, too.
        assert await app.publish(f"{yard.prefix}.x", "a", b"1")
        assert (await app.queue(f"{yard.prefix}.{suffix}").stats()).consumers == 0
    assert app.stats.drifts_mended == 1 + sum(
        each.is_mended for each in yard.told.drifts if each is not drift
    )


@pytest.mark.parametrize("look", ["amqp", "management"])
async def test_a_deleted_exchange_is_there_again_with_its_bindings(yard: Any, look: str) -> None:
    app: App = yard.app(TOPOLOGY, look=look)
    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.delete_exchange(f"{yard.prefix}.x")
        # A look that has listed the exchanges before and the bindings after tells these first.
        drift = await yard.told.the(DriftKind.MISSING, f"{yard.prefix}.x")
        assert str(drift) == f"exchange '{yard.prefix}.x' was missing (declared again)"
        assert await app.publish(f"{yard.prefix}.x", "a", b"1")


@pytest.mark.parametrize("look", ["amqp", "management"])
async def test_what_is_declared_otherwise_is_told_once_and_when_it_is_over(
    yard: Any, look: str, caplog: pytest.LogCaptureFixture
) -> None:
    app: App = yard.app(TOPOLOGY, look=look)
    name = f"{yard.prefix}.r"
    async with app:
        await app.wait_ready("20s")
        await yard.declare_instead(Queue(name, arguments={"x-message-ttl": 7}))
        drift = await yard.told.the(DriftKind.DIFFERENT, name)
        assert (drift.field, drift.wanted, drift.actual) == ("x-message-ttl", 10_000, 7)
        assert drift.done is Done.KEPT
        await yard.looks(app, 3)
        assert yard.told.count(DriftKind.DIFFERENT) == 1
        await yard.declare_instead(Queue(name, arguments={"x-message-ttl": 10_000}))
        over = await yard.told.the(DriftKind.DIFFERENT, name, is_over=True)
        assert over.field == "x-message-ttl"
        assert app.stats.drifts - app.stats.drifts_mended == 1
    words = f"queue '{name}': x-message-ttl is 7, wanted 10000"
    lines = [record.getMessage() for record in caplog.records]
    assert sum(line.startswith("drift: ") and words in line for line in lines) == 1
    assert sum(line.startswith("drift is over: ") and words in line for line in lines) == 1


async def test_bindings_are_told_with_the_management_api(yard: Any) -> None:
    app: App = yard.app(TOPOLOGY, look="management")
    x, q = f"{yard.prefix}.x", f"{yard.prefix}.q"
    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.unbind(Binding(x, q, "a"))
        drift = (await yard.told.until(1))[0]
        assert (drift.kind, drift.name) == (DriftKind.MISSING, f"{x} -> {q} [a]")
        assert drift.done is Done.BOUND
        await channel.bind(Binding(x, q, "b"))
        drift = (await yard.told.until(2))[1]
        assert (drift.kind, drift.name) == (DriftKind.EXTRA, f"{x} -> {q} [b]")
        await channel.unbind(Binding(x, q, "b"))
        assert (await yard.told.until(3))[2].is_over
        await channel.declare_exchange(Exchange(f"{yard.prefix}.y"))
        await channel.bind(Binding(f"{yard.prefix}.y", x, to_exchange=True))
        drift = (await yard.told.until(4))[3]
        assert drift.name == f"{yard.prefix}.y -> {x}"


async def test_a_binding_is_bound_again_over_amqp(yard: Any) -> None:
    app: App = yard.app(TOPOLOGY)
    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.unbind(Binding(f"{yard.prefix}.x", f"{yard.prefix}.q", "a"))
        await yard.looks(app, 2)
        assert await app.publish(f"{yard.prefix}.x", "a", b"1")
    assert yard.told.drifts == []


@pytest.mark.parametrize("look", ["amqp", "management"])
async def test_nothing_is_told_where_nothing_changes(
    yard: Any, look: str, caplog: pytest.LogCaptureFixture
) -> None:
    app: App = yard.app(TOPOLOGY, every=0.1, look=look)
    for _ in range(2):
        async with app:
            await app.wait_ready("20s")
            await yard.looks(app, 3)
    assert yard.told.drifts == []
    assert not [record for record in caplog.records if "drift" in record.name]


async def test_a_queue_with_a_consumer_is_told_though_its_consumer_restores_it(yard: Any) -> None:
    app: App = yard.app(TOPOLOGY, every=None)
    name = f"{yard.prefix}.q"

    @app.consumer(name)
    async def handle(body: bytes) -> None:
        return

    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.delete_queue(name)
        (drift,) = await yard.told.until(1)
        assert (drift.name, drift.done) == (name, Done.DECLARED)


async def test_what_went_while_there_was_no_connection_is_told_at_the_connect(
    yard: Any, proxy: Any
) -> None:
    app: App = yard.app(TOPOLOGY, every=None, url=proxy.url)
    async with app:
        await app.wait_ready("20s")
        channel = await yard.channel()
        await channel.delete_queue(f"{yard.prefix}.r")
        proxy.cut()
        (drift,) = await yard.told.until(1)
        assert (drift.name, drift.done) == (f"{yard.prefix}.r", Done.DECLARED)
