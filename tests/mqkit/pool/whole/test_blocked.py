"""A broker that blocks publishers, and callers who wait for it or don't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mqkit.errors import ConfigurationError, ConnectionLost
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool.publisher import Publisher

pytestmark = pytest.mark.anyio


def message(text: str) -> Message:
    return Message("x", "k", text.encode(), Properties(message_id=text))


def rejected(text: str, reason: str = "low on memory") -> Rejected:
    return Rejected(RejectReason.BLOCKED, reason, text)


def start(publisher: Publisher, *texts: str, **options: Any) -> asyncio.Task[list[Outcome]]:
    return asyncio.create_task(publisher.publish_batch([message(t) for t in texts], **options))


async def every_chance() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
async def publisher(stage: Any) -> AsyncIterator[Publisher]:
    async with stage.publisher() as publisher:
        yield publisher


async def test_a_call_that_does_not_wait_is_rejected_with_the_brokers_reason_and_not_sent(
    stage: Any, publisher: Publisher
) -> None:
    stage.block("low on memory")
    many = [message("2"), message("x" * 101), message("3")]
    async with asyncio.timeout(10):
        assert await publisher.publish(message("1"), on_blocked="fail") == rejected("1")
        two, too_large, three = await publisher.publish_batch(many, on_blocked="fail")
    assert (two, three) == (rejected("2"), rejected("3"))
    assert isinstance(too_large, Rejected)
    assert too_large.reason is RejectReason.TOO_LARGE
    assert stage.channels == []
    assert publisher.unsettled == 0


async def test_a_call_that_waits_goes_when_the_broker_takes_publishes_again(
    stage: Any, publisher: Publisher
) -> None:
    stage.block("low on memory")
    calls = [start(publisher, "1"), start(publisher, "2", on_blocked="wait")]
    await every_chance()
    assert stage.channels == []
    stage.unblock()
    assert await stage.written(0, 2) == ["1", "2"]
    stage.channels[0].answer(Confirmed("1"), Confirmed("2"))
    assert [await call for call in calls] == [[Confirmed("1")], [Confirmed("2")]]


async def test_when_the_block_begins_calls_that_were_not_written_end_and_others_stay(
    stage: Any, publisher: Publisher
) -> None:
    written = start(publisher, "1", "2", "3", on_blocked="fail")
    await stage.written(0, 3)  # the window is full
    single = asyncio.create_task(publisher.publish(message("4"), on_blocked="fail"))
    batch = start(publisher, "5", "6", on_blocked="fail")
    patient = start(publisher, "7")
    await every_chance()
    stage.block("low on disk")
    await every_chance()
    assert single.done()
    assert batch.done()
    assert await single == rejected("4", "low on disk")
    assert await batch == [rejected("5", "low on disk"), rejected("6", "low on disk")]
    assert not written.done()
    assert not patient.done()
    assert [lane.load for lane in publisher._lanes] == [4]
    stage.channels[0].answer(*map(Confirmed, "123"))
    assert await written == [Confirmed(text) for text in "123"]
    stage.unblock()
    assert (await stage.written(0, 4))[3:] == ["7"]
    stage.channels[0].answer(Confirmed("7"))
    assert await patient == [Confirmed("7")]


async def test_of_a_batch_that_is_written_in_part_the_rest_is_rejected(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", "2", "3", "4", "5", on_blocked="fail")
    await stage.written(0, 3)
    stage.block("low on memory")
    await every_chance()
    assert not publishing.done()
    stage.channels[0].answer(*map(Confirmed, "123"))
    await every_chance()
    assert publishing.done()
    confirmed = [Confirmed(text) for text in "123"]
    assert await publishing == [*confirmed, rejected("4"), rejected("5")]
    assert [lane.load for lane in publisher._lanes] == [0]


async def test_a_message_in_doubt_may_be_with_the_broker_and_waits(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", on_blocked="fail")
    await stage.written(0, 1)
    stage.block("low on memory")
    stage.channels[0].breaks(ConnectionLost("cut"))
    await every_chance()
    stage.block("still low on memory")
    await every_chance()
    assert not publishing.done()
    stage.unblock()
    assert await stage.written(1, 1) == ["1"]
    stage.channels[1].answer(Confirmed("1"))
    assert await publishing == [Confirmed("1")]


async def test_the_publishers_own_answer_is_for_calls_that_say_nothing(stage: Any) -> None:
    async with stage.publisher(on_blocked="fail") as publisher:
        stage.block("low on memory")
        assert await publisher.publish(message("1")) == rejected("1")
        assert await start(publisher, "2", resend=False) == [rejected("2")]
        patient = start(publisher, "3", on_blocked="wait")
        await every_chance()
        assert not patient.done()
        stage.unblock()
        await stage.written(0, 1)
        stage.channels[0].answer(Confirmed("3"))
        assert await patient == [Confirmed("3")]


async def test_an_answer_that_there_is_not_is_refused(publisher: Publisher) -> None:
    wrong: Any = "maybe"
    for calling in (
        publisher.publish(message("1"), on_blocked=wrong),
        publisher.publish_batch([message("1")], on_blocked=wrong),
    ):
        with pytest.raises(ConfigurationError, match="on_blocked='maybe': expected 'wait' or"):
            await calling


async def test_a_closed_publisher_hears_of_no_block_any_more(stage: Any) -> None:
    async with stage.publisher() as publisher:
        assert stage.listeners == 1
    await publisher.close()
    assert stage.listeners == 0
