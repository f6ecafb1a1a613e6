"""Consuming in batches, on a real broker: an outcome for each message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import App, Batch, Delivery
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

RETRY = "{retry: {after: [20ms, 60ms], then: park}}"
LONG = 600.0
WAIT_S = 20.0


class Row(BaseModel):
    number: int


def rows(*numbers: int) -> list[bytes]:
    return [f'{{"number": {number}}}'.encode() for number in numbers]


async def test_a_batch_ends_at_its_size(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=10, within=LONG)
    async def store(batch: Batch[Row]) -> None:
        inbox.add([row.number for row in batch])

    await scene.put(*rows(*range(30)))
    async with app:
        await inbox.until(3)
    assert inbox.items == [list(range(start, start + 10)) for start in (0, 10, 20)]
    assert (app.stats.acked, app.stats.delivered) == (30, 30)
    assert await scene.ready() == 0


async def test_a_batch_that_does_not_fill_up_ends_when_its_time_is_over(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=1000, within=0.05)
    async def store(batch: Batch[bytes]) -> None:
        inbox.items.extend(batch)
        inbox.add(b"end")

    await scene.put(b"a", b"b")
    async with app:
        await inbox.when(lambda items: items.count(b"a") == 1 and items[-1] == b"end")
    assert sorted(inbox.items)[:2] == [b"a", b"b"]
    assert app.stats.acked == 2


async def test_each_message_of_a_batch_has_its_own_outcome(
    scene: Any, inbox: Any, new_inbox: Callable[[], Any]
) -> None:
    app: App = scene.app(RETRY)
    parked = new_inbox()

    @app.batch_consumer(scene.queue, size=6, within=0.2)
    async def store(batch: Batch[Row]) -> None:
        for row, delivery in zip(batch, batch.deliveries, strict=True):
            inbox.add((row.number, delivery.headers.get("x-mqkit-attempt", 0)))
            if row.number == 2 and not delivery.headers.get("x-mqkit-attempt"):
                batch.retry(row, reason="locked")
            if row.number == 4:
                batch.park(row, "constraint")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        parked.add((delivery.body, delivery.headers["x-mqkit-parked-reason"]))

    await scene.put(*rows(0, 1, 2, 3, 4), b"junk")
    async with app:
        await parked.until(2)
        await inbox.when(lambda items: (2, 1) in items)
    assert sorted(parked.items) == [(b"junk", "schema"), (rows(4)[0], "constraint")]
    # acked: 0, 1, 3, then 2 at its second attempt, and the two parked ones by `look`
    assert (app.stats.acked, app.stats.retried, app.stats.parked) == (6, 1, 2)
    assert app.stats.misfits == 1
    assert await scene.ready() == 0


async def test_an_exception_retries_every_message_by_itself(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=3, within=0.2)
    async def store(batch: Batch) -> None:  # type: ignore[type-arg]
        if not any(each.headers.get("x-mqkit-attempt") for each in batch):
            raise ValueError("the database is away")
        for each in batch:
            inbox.add((each.message_id, each.headers["x-mqkit-attempt"]))

    await scene.put(b"", b"", b"")
    async with app:
        await inbox.until(3)
    assert sorted(inbox.items) == [("m0", 1), ("m1", 1), ("m2", 1)]
    assert (app.stats.retried, app.stats.acked) == (3, 3)


async def test_what_is_not_confirmed_in_its_tier_goes_back_and_the_rest_is_acked(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.batch_consumer(scene.queue, size=3, within=0.2)
    async def store(batch: Batch[Delivery]) -> None:
        for each in batch:
            inbox.add((each.message_id, each.redelivered))
            if each.message_id == "m1" and not each.redelivered:
                await scene.refuse(f"{scene.queue}.retry.20ms")
                batch.retry(each)

    await scene.put(b"", b"", b"")
    async with app:
        await inbox.when(lambda items: ("m1", True) in items)
    assert len(inbox.items) == 4
    assert (app.stats.acked, app.stats.requeued, app.stats.unconfirmed_republishes) == (3, 1, 1)
    assert await scene.ready() == 0


async def test_a_batch_does_not_survive_its_channel(scene: Any, inbox: Any) -> None:
    """Messages that waited for their batch to fill are delivered again after a reconnect, and come
    once."""
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)
        ids = {f"m{number}" for number in range(100)}

        @app.batch_consumer(scene.queue, size=20, within=0.1)
        async def store(batch: Batch[Delivery]) -> None:
            inbox.add([each.message_id for each in batch])
            if len(inbox.items) == 2:
                proxy.cut()
                # confirmed on the next connection: by then the old one is known to be gone
                assert await app.publish("", f"{scene.queue}.dead", b"")

        await scene.put(*[b""] * 100)
        async with app:
            await inbox.when(lambda items: {name for batch in items for name in batch} == ids)
    assert app.stats.stale_acks == 20


async def test_a_batch_ends_before_its_bodies_are_too_many_octets(scene: Any, inbox: Any) -> None:
    app: App = scene.app()
    sizes = (40, 40, 40, 200, 10, 90, 1)
    await scene.put(*(b"x" * size for size in sizes))

    @app.batch_consumer(scene.queue, size=100, within="200ms", max_bytes=100)
    async def store(rows: Batch[bytes]) -> None:
        inbox.add([len(row) for row in rows])

    async with app:
        await inbox.when(lambda batches: sum(map(len, batches)) == len(sizes))
    assert inbox.items == [[40, 40], [40], [200], [10, 90], [1]]
    assert app.stats.acked == len(sizes)


async def test_batches_that_are_handled_at_once_settle_their_own_messages_only(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app()
    await scene.put(*(bytes([number]) for number in range(6)))
    held: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    may_end = asyncio.Event()

    @app.batch_consumer(scene.queue, size=2, within="10ms", concurrency=3)
    async def store(rows: Batch[bytes]) -> None:
        if b"\0" in rows:
            held.set_result(len(rows))
            await may_end.wait()

    async with app:
        waiting = await held
        async with asyncio.timeout(WAIT_S):
            while app.stats.acked < 6 - waiting:  # noqa: ASYNC110 - nobody tells it
                await asyncio.sleep(0)
        assert app.stats.acked == 6 - waiting
        may_end.set()
    assert app.stats.acked == 6
    assert await scene.ready() == 0
