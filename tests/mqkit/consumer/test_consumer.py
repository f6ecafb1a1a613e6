"""Consuming a message at a time, on a real broker: what becomes of each message."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from pydantic import BaseModel, field_validator

from mqkit import App, Delivery, Drop, Park, RetryLater
from mqkit.testing.proxy import FaultyProxy

pytestmark = pytest.mark.anyio

WAIT_S = 20.0
RETRY = "{retry: {after: [20ms, 60ms], then: park}}"


class Item(BaseModel):
    number: int


class Fragile(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def divides(cls, number: int) -> int:
        return 1 // number


async def test_a_message_is_decoded_and_acked_after_its_handler(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(item: Item, delivery: Delivery) -> None:
        inbox.add((item.number, delivery.message_id))

    async with app:
        outcome = await app.publish("", scene.queue, Item(number=7), message_id="seven")
        assert outcome
        await inbox.until(1)
    assert inbox.items == [(7, "seven")]
    assert app.stats.acked == 1
    assert await scene.ready() == 0


async def test_a_failure_travels_every_tier_and_is_parked_at_the_end(
    scene: Any, inbox: Any, new_inbox: Callable[[], Any]
) -> None:
    app: App = scene.app(RETRY)
    parked = new_inbox()

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery.headers.get("x-mqkit-attempt", 0))
        raise ValueError("never works")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        parked.add(delivery)

    async with app:
        assert await app.publish("", scene.queue, b"x", message_id="m", headers={"mine": 1})
        await parked.until(1)
    assert inbox.items == [0, 1, 2]
    (delivery,) = parked.items
    assert (delivery.body, delivery.message_id) == (b"x", "m")
    assert delivery.headers["mine"] == 1
    assert delivery.headers["x-mqkit-error-type"] == "ValueError"
    assert delivery.headers["x-mqkit-error-message"] == "never works"
    assert delivery.headers["x-mqkit-attempt"] == 3
    assert (app.stats.retried, app.stats.parked, app.stats.acked) == (2, 1, 1)


async def test_a_failure_that_passes_is_retried_until_it_works(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(item: Item) -> None:
        inbox.add(item.number)
        if len(inbox.items) == 1:
            raise ConnectionError("not yet")

    async with app:
        assert await app.publish("", scene.queue, Item(number=1))
        await inbox.until(2)
    assert (app.stats.retried, app.stats.acked, app.stats.parked) == (1, 1, 0)
    assert await scene.ready(scene.parked) == 0


@pytest.mark.parametrize("body", [b"no json", b'{"number": "a lot"}', b"{}", b"\xff"])
async def test_a_body_that_does_not_fit_is_parked_at_once(
    scene: Any, inbox: Any, body: bytes
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(item: Item) -> None:
        raise AssertionError("the handler must not see it")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        inbox.add(delivery)

    async with app:
        assert await app.publish("", scene.queue, body)
        await inbox.until(1)
    assert inbox.items[0].headers["x-mqkit-parked-reason"] == "schema"
    assert inbox.items[0].headers["x-mqkit-error-type"] == "BodyMisfit"
    assert inbox.items[0].body == body
    assert (app.stats.misfits, app.stats.retried, app.stats.parked) == (1, 0, 1)


async def test_a_validator_that_fails_is_a_failure_like_any_other(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(item: Fragile) -> None:
        raise AssertionError("the handler must not see it")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        inbox.add(delivery.headers["x-mqkit-error-type"])

    async with app:
        assert await app.publish("", scene.queue, Item(number=0))
        await inbox.until(1)
    assert inbox.items == ["ZeroDivisionError"]
    assert (app.stats.retried, app.stats.misfits) == (2, 0)


async def test_retry_later_takes_the_tier_it_asks_for(scene: Any, inbox: Any) -> None:
    app: App = scene.app("{retry: {after: [20ms, 90ms, 90ms], then: park}}")

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        deaths = cast("list[dict[str, str]]", delivery.headers.get("x-death", []))
        inbox.add([death["queue"] for death in deaths])
        if len(inbox.items) == 1:
            raise RetryLater(timedelta(milliseconds=21))

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(2)
    assert inbox.items == [[], [f"{scene.queue}.retry.90ms"]]


async def test_retry_later_than_the_last_tier_is_refused_and_says_the_tiers(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        raise RetryLater("10m")

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        inbox.add(delivery.headers["x-mqkit-parked-reason"])

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(1)
    assert "longer than the last retry tier (the tiers are 20ms, 60ms)" in inbox.items[0]


async def test_park_and_drop_do_what_they_say(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(body: str) -> None:
        raise Park("bad VAT id") if body == "park" else Drop()

    @app.consumer(scene.parked)
    async def look(delivery: Delivery) -> None:
        inbox.add((delivery.body, delivery.headers["x-mqkit-parked-reason"]))

    async with app:
        for body in ("drop", "park"):
            assert await app.publish("", scene.queue, body)
        await inbox.until(1)
    assert inbox.items == [(b"park", "bad VAT id")]
    assert (app.stats.dropped, app.stats.parked, app.stats.retried) == (1, 1, 0)
    assert await scene.ready() == 0


async def test_a_handler_that_takes_too_long_is_cancelled_and_retried(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue, timeout=0.05)
    async def handle(delivery: Delivery) -> None:
        if delivery.headers.get("x-mqkit-error-type"):
            inbox.add(delivery.headers["x-mqkit-error-type"])
            return
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            inbox.add("cancelled")
            raise

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(2)
    assert inbox.items == ["cancelled", "HandlerTimeout"]
    assert (app.stats.timeouts, app.stats.retried) == (1, 1)


async def test_a_plain_function_runs_in_a_thread(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)
    loop = asyncio.get_running_loop()

    @app.consumer(scene.queue)
    def handle(body: bytes) -> None:
        on_the_loop = threading.current_thread() is threading.main_thread()
        loop.call_soon_threadsafe(inbox.add, (body, on_the_loop))

    async with app:
        assert await app.publish("", scene.queue, b"x")
        await inbox.until(1)
    assert inbox.items == [(b"x", False)]
    assert app.stats.acked == 1


async def test_as_many_handlers_as_allowed_run_at_once_and_no_more(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)
    go = asyncio.Event()
    running = 0

    @app.consumer(scene.queue, concurrency=3)
    async def handle(body: bytes) -> None:
        nonlocal running
        running += 1
        inbox.add(running)
        await go.wait()
        running -= 1

    await scene.put(*[b""] * 9)
    async with app:
        await inbox.until(3)
        go.set()
        await inbox.until(9)
    assert max(inbox.items) == 3


async def test_one_handler_at_a_time_keeps_the_order(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(body: str) -> None:
        await asyncio.sleep(0)
        inbox.add(int(body))

    await scene.put(*[str(number).encode() for number in range(50)])
    async with app:
        await inbox.until(50)
    assert inbox.items == list(range(50))


async def test_a_cancelled_error_of_the_handlers_own_is_a_failure(scene: Any, inbox: Any) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery.headers.get("x-mqkit-error-type"))
        if len(inbox.items) == 1:
            waited_for = asyncio.get_running_loop().create_future()
            waited_for.cancel()
            await waited_for

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(2)
    assert inbox.items == [None, "HandlerCancelled"]


# -- queues without a retry policy ---------------------------------------------------------------


async def test_without_a_policy_a_failure_goes_back_to_the_queue(scene: Any, inbox: Any) -> None:
    app: App = scene.app()

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery.redelivered)
        if len(inbox.items) == 1:
            raise ValueError("once")

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(2)
    assert inbox.items == [False, True]
    assert (app.stats.requeued, app.stats.acked) == (1, 1)


async def test_without_a_policy_a_parked_message_goes_to_the_queues_dead_letter_exchange(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(f"{{dead_letter: {{exchange: '', key: {scene.queue}.dead}}}}")

    @app.consumer(scene.queue)
    async def handle(item: Item) -> None:
        raise AssertionError("the handler must not see it")

    @app.consumer(f"{scene.queue}.dead")
    async def look(body: bytes) -> None:
        inbox.add(body)

    async with app:
        assert await app.publish("", scene.queue, b"junk")
        await inbox.until(1)
    assert inbox.items == [b"junk"]
    assert app.stats.dead_lettered == 1


# -- broken links --------------------------------------------------------------------------------


async def test_nothing_is_lost_when_connections_are_cut_in_the_middle(
    scene: Any, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)
        expected = {f"m{number}" for number in range(300)}

        @app.consumer(scene.queue, concurrency=4)
        async def handle(delivery: Delivery) -> None:
            if (
                not delivery.headers.get("x-mqkit-attempt")
                and (delivery.message_id or "")[-1:] == "3"
            ):
                raise ValueError("the first time")
            inbox.add(delivery.message_id)
            if len(inbox.items) in (40, 120, 200):
                proxy.cut()

        async with app:
            outcomes = await app.publish_batch(
                [app.message("", scene.queue, b"", message_id=name) for name in expected]
            )
            assert all(outcomes)
            await inbox.when(lambda items: set(items) == expected)
        assert proxy.accepted >= 4
    # What is left now are duplicates: publishes and settlings whose answer was cut off.
    assert set(inbox.items) == expected


async def test_an_ack_after_a_reconnect_is_counted_and_does_nothing(scene: Any, inbox: Any) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)
        go = asyncio.Event()

        @app.consumer(scene.queue, concurrency=2, prefetch=2)
        async def handle(delivery: Delivery) -> None:
            inbox.add(delivery.redelivered)
            if not delivery.redelivered:
                await go.wait()

        async with app:
            assert await app.publish("", scene.queue, b"")
            await inbox.until(1)
            proxy.cut()
            await inbox.until(2)  # delivered again, while the first handler still runs
            go.set()
    assert inbox.items == [False, True]
    assert (app.stats.stale_acks, app.stats.acked) == (1, 1)


async def test_what_waited_for_a_handler_on_a_lost_channel_is_not_handled_twice(
    scene: Any, inbox: Any
) -> None:
    async with FaultyProxy.before(scene.url) as proxy:
        app: App = scene.app(RETRY, url=proxy.url)

        @app.consumer(scene.queue, prefetch=5)
        async def handle(delivery: Delivery) -> None:
            inbox.add(delivery.message_id)
            if len(inbox.items) == 1:
                # a round trip, in which the other messages arrive
                assert await app.publish("", f"{scene.queue}.dead", b"")
                proxy.cut()
                # confirmed on the next connection: by then the old one is known to be gone
                assert await app.publish("", f"{scene.queue}.dead", b"")

        await scene.put(*[b""] * 5)
        async with app:
            await inbox.until(6)
    assert inbox.items == ["m0", "m0", "m1", "m2", "m3", "m4"]
    assert app.stats.stale_deliveries == app.stats.delivered - 6
    assert (app.stats.stale_acks, app.stats.acked) == (1, 5)


async def test_a_republish_that_is_not_confirmed_leaves_the_message_in_its_queue(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(delivery: Delivery) -> None:
        inbox.add(delivery.redelivered)
        if len(inbox.items) == 1:
            await scene.refuse(f"{scene.queue}.retry.20ms")
            raise ValueError("nowhere to go")

    async with app:
        assert await app.publish("", scene.queue, b"")
        await inbox.until(2)
    assert inbox.items == [False, True]
    assert (app.stats.unconfirmed_republishes, app.stats.requeued) == (1, 1)
    assert (app.stats.retried, app.stats.acked) == (0, 1)
    await scene.put()


async def test_a_queue_that_is_deleted_is_declared_and_consumed_again(
    scene: Any, inbox: Any
) -> None:
    app: App = scene.app(RETRY)

    @app.consumer(scene.queue)
    async def handle(body: bytes) -> None:
        inbox.add(body)

    async with app:
        await app.wait_ready(WAIT_S)
        await scene.delete()
        await scene.until_declared()
        assert await app.publish("", scene.queue, b"after")
        await inbox.until(1)
    assert inbox.items == [b"after"]
    assert app.stats.cancelled_by_broker == 1
