"""A queue that is emptied before it goes: what still comes to it, and who still has of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.declaration import Binding, Queue
from mqkit.message import Message, Properties
from mqkit.topology.migration import Outcome
from mqkit.topology.migration.steps import Step

pytestmark = pytest.mark.anyio

QUORUM = {"x-queue-type": "quorum"}


def tier_of(shop: Any, name: str, ttl_ms: int, **arguments: Any) -> Queue:
    back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": shop.queue}
    return Queue(name, arguments={"x-message-ttl": ttl_ms, **back, **arguments})


async def test_a_tier_is_held_and_gets_its_messages_back(shop: Any) -> None:
    tier = tier_of(shop, f"{shop.queue}.wait", 3_600_000)
    await shop.declare(tier)
    await shop.publish(2, exchange="", key=tier.name)
    held: list[str] = []

    def watch(record: Any) -> None:
        if record["record"] == "window":
            held.append(record["destination"])

    report = await shop.migrate(type="quorum", on_record=watch)
    assert report.outcome is Outcome.FINISHED
    assert held == [f"{tier.name}.migrating", tier.name]
    assert await shop.names() == {shop.exchange, shop.queue, tier.name}
    assert await shop.taken(tier.name) == shop.published


async def test_what_comes_back_from_a_tier_meanwhile_is_kept(
    shop: Any, killed: type[Exception]
) -> None:
    tier = tier_of(shop, f"{shop.queue}.wait", 1)
    await shop.declare(tier)
    waited: list[str] = []

    def watch(record: Any) -> None:
        if record["record"] == "done" and record["step"] == Step.DIVERT:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)
    # Over the default exchange, but no publisher's.
    await shop.publish(1, exchange="", key=tier.name)
    while not waited:
        state = await shop.channel.declare_queue(Queue(shop.queue), passive=True)
        waited += [shop.queue] * state.message_count
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.lost) == (Outcome.FINISHED, 0)
    assert await shop.taken() == shop.published


async def test_a_message_with_its_own_time_to_live_is_not_held(shop: Any) -> None:
    tier = tier_of(shop, f"{shop.queue}.wait", 3_600_000)
    await shop.declare(tier)
    message = Message("", tier.name, b"x", Properties(expiration_ms=3_000_000))
    await asyncio.gather(*await shop.channel.publish_many([message]))
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.step) == (Outcome.STOPPED, Step.EMPTY)
    assert "time to live of its own" in report.why
    assert await shop.taken(tier.name) == [None]
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED


async def stopped_by_name(shop: Any, killed: type[Exception], **keys: Any) -> Any:
    """Somebody publishes by name when the gate has been diverted."""

    def watch(record: Any) -> None:
        if record["record"] == "done" and record["step"] == Step.DIVERT:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)
    # The first look of a run takes what was there; this comes after it.
    looks = 0
    sleep = shop.sleep

    async def publish_at_a_look(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            await shop.publish(1, exchange="", key=shop.queue)
        await sleep(seconds)

    shop.sleep = publish_at_a_look
    try:
        return await shop.migrate(type="quorum", **keys)
    finally:
        shop.sleep = sleep


async def test_who_publishes_by_name_stops_it_and_the_same_call_goes_on(
    shop: Any, killed: type[Exception]
) -> None:
    report = await stopped_by_name(shop, killed)
    assert (report.outcome, report.step) == (Outcome.STOPPED, Step.EMPTY)
    assert "publishes to" in report.why
    assert "(id m0)" in report.why
    assert (await shop.live()).arguments == {}
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.lost) == (Outcome.FINISHED, 0)
    assert await shop.taken() == shop.published


async def test_gap_accepts_it(shop: Any, killed: type[Exception]) -> None:
    report = await stopped_by_name(shop, killed, gap=True)
    assert report.outcome is Outcome.FINISHED
    # It came before the queue was away, so it is moved like the rest.
    assert await shop.taken() == shop.published


async def test_a_message_that_a_consumer_has_is_waited_for(shop: Any) -> None:
    await shop.publish(1)
    reader = await shop.connection.channel()
    delivery = await reader.get(shop.queue)
    await shop.counts_unacked(1)
    shop.wait_s = 0.5
    report = await shop.migrate(type="quorum")
    assert (report.outcome, report.step) == (Outcome.STOPPED, Step.EMPTY)
    assert "1 messages of" in report.why
    assert (await shop.live()).arguments == {}
    await reader.ack(delivery.delivery_tag)
    shop.wait_s = 30.0
    assert (await shop.migrate(type="quorum")).outcome is Outcome.FINISHED
    assert await shop.taken() == []


async def test_a_binding_that_somebody_makes_meanwhile_is_kept(
    shop: Any, killed: type[Exception]
) -> None:
    again = Binding(shop.exchange, shop.queue, "new.#")

    def watch(record: Any) -> None:
        if record["record"] == "done" and record["step"] == Step.DIVERT:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)
    await shop.declare(again, shop.bindings[0])
    report = await shop.migrate(type="quorum")
    assert report.outcome is Outcome.FINISHED
    assert "bound" in report.remarks[0]
    found = (await shop.bench.snapshot()).bindings
    assert {it.key for it in found} == {"a.#", "*.b", "new.#"}
    await shop.publish(1, exchange=shop.exchange, key="new.x")
    assert await shop.taken() == shop.published
