"""One channel with questions under way, and a broker that the test plays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from mqkit.errors import CallRejected, ChannelError, Closed, ConnectionLost, MqkitError
from mqkit.message import Message, Properties
from mqkit.outcome import Rejected, RejectReason, Unknown
from mqkit.rpc.reply_channel import WRITTEN_AT_ONCE, ReplyChannel

pytestmark = pytest.mark.anyio


def question(number: int = 0) -> Message:
    properties = Properties(message_id="same", correlation_id=f"c{number}")
    return Message("prices", "quote", b"", properties)


async def opened(wire: Any) -> ReplyChannel:
    async def open_channel() -> Any:
        return wire

    return await ReplyChannel.open(open_channel)


async def error_of(answer: Awaitable[Any]) -> MqkitError:
    with pytest.raises(MqkitError) as raised:
        await answer
    return raised.value


async def test_an_answer_goes_to_its_question_whatever_the_order(wire: Any) -> None:
    channel = await opened(wire)
    assert wire.said == ["consume amq.rabbitmq.reply-to {'no_ack': True}"]
    first, second = channel.ask(question(1)), channel.ask(question(2))
    await wire.until_written(2)
    wire.answers(question(2), b"two")
    wire.answers(question(1), b"one")
    assert ((await first).body, (await second).body) == (b"one", b"two")


async def test_late_double_and_strange_answers_are_nothing(wire: Any) -> None:
    channel = await opened(wire)
    answer = channel.ask(question(1))
    await wire.until_written(1)
    wire.answers(question(7), b"not ours")
    wire.answers(question(1), b"one")
    wire.answers(question(1), b"two")
    assert (await answer).body == b"one"
    channel.forget(question(1))
    wire.answers(question(1), b"late")
    assert channel.is_idle


async def test_a_question_that_the_broker_refuses_fails_with_its_reason(wire: Any) -> None:
    channel = await opened(wire)
    answers = [channel.ask(question(number)) for number in range(3)]
    await wire.until_written(3)
    wire.settles(0)
    wire.settles(1, Rejected(RejectReason.UNROUTABLE, "NO_ROUTE"))
    wire.settles(2, Unknown("the link failed"))
    refused = await error_of(answers[1])
    assert isinstance(refused, CallRejected)
    assert "unroutable: NO_ROUTE" in str(refused)
    assert isinstance(await error_of(answers[2]), ConnectionLost)
    assert not answers[0].done()
    wire.answers(question(0), b"zero")
    assert (await answers[0]).body == b"zero"


@pytest.mark.parametrize("end", [ConnectionLost("cut"), None])
async def test_questions_under_way_fail_with_the_connection_at_once(wire: Any, end: Any) -> None:
    channel = await opened(wire)
    answer = channel.ask(question(1))
    await wire.until_written(1)
    wire.ends(end)
    assert answer.done()
    assert isinstance(await error_of(answer), ConnectionLost)
    assert not channel.is_open
    assert isinstance(await error_of(channel.ask(question(2))), ConnectionLost)


async def test_the_question_that_a_channel_is_closed_for_has_the_reason(wire: Any) -> None:
    channel = await opened(wire)
    mine, other = channel.ask(question(1)), channel.ask(question(2))
    await wire.until_written(2)
    wire.ends(ChannelError(404, "NOT_FOUND - no exchange 'prices'"))
    wire.settles(0, Rejected(RejectReason.NO_EXCHANGE, "404 NOT_FOUND"))
    wire.settles(1, Unknown("the channel was closed"))
    assert isinstance(await error_of(mine), CallRejected)
    assert isinstance(await error_of(other), ConnectionLost)


async def test_a_question_that_nobody_waits_for_is_not_written(wire: Any) -> None:
    channel = await opened(wire)
    wire.may_write.clear()
    channel.ask(question(0))
    await asyncio.sleep(0)  # the socket's buffer is full
    channel.ask(question(1))
    channel.ask(question(2))
    channel.forget(question(1))
    wire.may_write.set()
    await wire.until_written(2)
    assert [each.properties.correlation_id for each in wire.written] == ["c0", "c2"]


async def test_many_are_written_in_portions(wire: Any) -> None:
    channel = await opened(wire)
    count = 2 * WRITTEN_AT_ONCE + 1
    for number in range(count):
        channel.ask(question(number))
    await wire.until_written(count)
    assert wire.said[1:] == [f"publish {WRITTEN_AT_ONCE}"] * 2 + ["publish 1"]


async def test_a_close_ends_what_is_under_way(wire: Any) -> None:
    channel = await opened(wire)
    answer = channel.ask(question(1))
    wire.may_write.clear()
    await channel.close()
    await channel.close()
    assert isinstance(await error_of(answer), Closed)
    assert not wire.is_open


async def test_a_consumer_that_is_refused_leaves_no_channel(wire: Any) -> None:
    wire.refusal = ChannelError(403, "ACCESS_REFUSED")
    with pytest.raises(ChannelError):
        await opened(wire)
    assert not wire.is_open
