"""Messages from one queue to another: windows, order, properties, and destinations that fail."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.message import Message, Properties
from mqkit.topology.migration import Outcome
from mqkit.topology.migration.moving import MESSAGES_MAX, OCTETS_MAX
from mqkit.topology.migration.steps import Step
from mqkit.transport.native import NativeTransport

pytestmark = pytest.mark.anyio


async def windows_of(shop: Any, **keys: Any) -> list[int]:
    """The sizes of the windows of a migration's first move."""
    sizes: list[int] = []

    def watch(record: Any) -> None:
        if record["record"] == "window" and record["source"] == shop.queue:
            sizes.append(len(record["ids"]))

    assert (await shop.migrate(on_record=watch, **keys)).outcome is Outcome.FINISHED
    return sizes


async def test_a_window_is_bounded_in_messages(shop: Any) -> None:
    await shop.publish(MESSAGES_MAX + 7)
    assert await windows_of(shop, type="quorum") == [MESSAGES_MAX, 7]
    assert await shop.taken() == shop.published


async def test_a_window_is_bounded_in_octets(shop: Any) -> None:
    body = bytes(OCTETS_MAX // 3)
    messages = [Message(shop.exchange, shop.key, body, Properties()) for _ in range(8)]
    await asyncio.gather(*await shop.channel.publish_many(messages))
    sizes = await windows_of(shop, max_priority=2)
    assert sum(sizes) == 8
    assert max(sizes) <= 5  # one, and then a portion of as many as fit


async def test_what_a_message_has_it_keeps(shop: Any) -> None:
    properties = Properties(
        content_type="text/plain",
        headers={"CC": ["elsewhere"], "n": 5, "x": {"deep": [1.5, None, True]}},
        priority=3,
        correlation_id="c",
        reply_to="r",
        message_id="m0",
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
        type="t",
        app_id="a",
    )
    elsewhere = Queue("elsewhere", durable=False, exclusive=True)
    await shop.declare(elsewhere)
    await asyncio.gather(
        *await shop.channel.publish_many([Message(shop.exchange, shop.key, b"body", properties)])
    )
    before = await shop.taken("elsewhere")
    await shop.migrate(max_priority=5)
    delivery = await shop.channel.get(shop.queue, no_ack=True)
    assert (delivery.body, delivery.routing_key) == (b"body", shop.key)
    assert delivery.properties == properties
    # A copy for a CC is routed when a message is published, and not each time that it is moved.
    assert before == []
    assert await shop.taken("elsewhere") == []


async def test_another_user_s_message_is_moved(shop: Any) -> None:
    await asyncio.gather(
        *await shop.channel.publish_many(
            [Message(shop.exchange, shop.key, b"x", Properties(user_id="guest"))]
        )
    )
    await shop.migrate(max_priority=5)
    delivery = await shop.channel.get(shop.queue, no_ack=True)
    assert delivery.properties.user_id == "guest"


async def test_a_queue_that_rejects_takes_what_fits_and_the_rest_stays(
    shop: Any, killed: type[Exception]
) -> None:
    await shop.publish(6)
    wanted = {"max_length": 6, "overflow": "reject-publish"}

    def watch(record: Any) -> None:
        if record["record"] == "begun" and record["step"] == Step.FETCH:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(on_record=watch, **wanted)
    await shop.publish(3)
    report = await shop.migrate(**wanted)
    assert (report.outcome, report.lost) == (Outcome.STOPPED, 0)
    assert "takes no more messages" in report.why
    found = await shop.taken()
    assert len(found) == 6
    report = await shop.migrate(**wanted)
    assert report.outcome is Outcome.FINISHED
    assert [*found, *await shop.taken()] == shop.published


async def test_a_destination_that_somebody_deletes_is_told_and_nothing_is_lost(
    shop: Any, killed: type[Exception]
) -> None:
    await shop.publish(5)
    connection = await NativeTransport().connect(shop.bench.endpoint, name="t", timeout_s=20)

    def watch(record: Any) -> None:
        if record["record"] == "begun" and record["step"] == Step.FETCH:
            raise killed

    with pytest.raises(killed):
        await shop.migrate(type="quorum", on_record=watch)

    def delete_when_it_moves(record: Any) -> None:
        if record["record"] == "window":
            deleting.append(asyncio.ensure_future(delete()))

    async def delete() -> None:
        channel = await connection.channel()
        await channel.delete_exchange(f"{shop.queue}.migrating.in")

    deleting: list[Any] = []
    # The exchange goes before the window is sent, or right after it: both have to be good.
    report = await shop.migrate(type="quorum", on_record=delete_when_it_moves)
    await asyncio.gather(*deleting, return_exceptions=True)
    if report.outcome is Outcome.STOPPED:
        report = await shop.migrate(type="quorum")
    assert (report.outcome, report.lost) == (Outcome.FINISHED, 0)
    assert sorted(await shop.taken()) == sorted(shop.published)
    await connection.close()
