"""Calls by a clock that stands still, on channels in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.errors import (
    CallRejected,
    ChannelError,
    Closed,
    ConfigurationError,
    ConnectionLost,
    DeadlineExceeded,
    RemoteError,
)
from mqkit.message import Message, Properties
from mqkit.outcome import Rejected, RejectReason
from mqkit.rpc.caller import Caller
from mqkit.rpc.channel_room import CHANNELS_MAX
from mqkit.rpc.headers import DEADLINE, DIRECT_REPLY_TO, ERROR_TYPE
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

NOW_MS = 1_700_000_000_000


class Side:
    """A caller, and the channels that it has opened."""

    def __init__(self, wire_class: type[Any]) -> None:
        self.clock = FakeClock()
        self.wires: list[Any] = []
        self.problem: Exception | None = None
        self._wire_class = wire_class
        self.caller = Caller(
            self._open,
            lambda: "blocked",
            max_message_bytes=1000,
            clock=self.clock,
            now_ms=lambda: NOW_MS,
        )

    async def _open(self) -> Any:
        await asyncio.sleep(0)
        if self.problem is not None:
            raise self.problem
        self.wires.append(self._wire_class())
        return self.wires[-1]

    def begin(self, exchange: str = "prices", reply: Any = bytes) -> asyncio.Task[Any]:
        message = Message(exchange, "quote", b"?", Properties(message_id="same", headers={"a": 1}))
        return asyncio.create_task(self.caller.call(message, reply, 2.0))

    async def until_asked(self, channel: int = 0, count: int = 1) -> list[Message]:
        while len(self.wires) <= channel:  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)
        await self.wires[channel].until_written(count)
        written: list[Message] = self.wires[channel].written
        return written


@pytest.fixture
def side(wire: Any) -> Side:
    return Side(type(wire))


async def test_a_question_carries_its_deadline_and_gets_its_own_answer(side: Side) -> None:
    one, two = side.begin(reply=str), side.begin(reply=list[int])
    first, second = await side.until_asked(count=2)
    assert first.properties.headers == {"a": 1, DEADLINE: NOW_MS + 2000}
    assert first.properties.reply_to == DIRECT_REPLY_TO
    assert first.properties.expiration_ms is None
    assert not first.properties.persistent
    assert first.mandatory
    assert first.properties.correlation_id != second.properties.correlation_id
    side.wires[0].answers(second, b"[2]")
    side.wires[0].answers(first, b"one")
    assert (await one, await two) == ("one", [2])
    assert len(side.wires) == 1


async def test_the_deadline_ends_a_call_and_says_what_was_waited_for(side: Side) -> None:
    task = side.begin()
    await side.until_asked()
    side.clock.advance(2.0)
    with pytest.raises(DeadlineExceeded, match=r"'prices' 'quote' within 2 s \(client: blocked\)"):
        await task
    assert side.clock.waiting == 0


async def test_an_error_of_the_handler_is_raised(side: Side) -> None:
    task = side.begin()
    (question,) = await side.until_asked()
    side.wires[0].answers(question, b"no such customer", headers={ERROR_TYPE: "KeyError"})
    with pytest.raises(RemoteError, match="KeyError: no such customer"):
        await task


async def test_a_mistake_on_one_exchange_leaves_the_calls_of_others(side: Side) -> None:
    good = side.begin("prices")
    (question,) = await side.until_asked(0)
    bad = side.begin("typo")
    await side.until_asked(1)
    side.wires[1].settles(0, Rejected(RejectReason.NO_EXCHANGE, "404"))
    side.wires[1].ends(ChannelError(404, "NOT_FOUND"))
    with pytest.raises(CallRejected):
        await bad
    side.wires[0].answers(question, b"fine")
    assert await good == b"fine"


async def test_it_is_not_asked_again_when_the_connection_goes_but_the_next_call_is(
    side: Side,
) -> None:
    task = side.begin()
    await side.until_asked(0)
    side.wires[0].ends(ConnectionLost("cut"))
    with pytest.raises(ConnectionLost, match="cut"):
        await task
    again = side.begin()
    (question,) = await side.until_asked(1)
    side.wires[1].answers(question, b"here")
    assert await again == b"here"
    assert [len(wire.written) for wire in side.wires] == [1, 1]


async def test_no_connection_is_an_error_or_the_deadline(side: Side) -> None:
    side.problem = ConnectionLost("there is no connection")
    with pytest.raises(ConnectionLost):
        await side.begin()


async def test_a_question_that_is_too_large_is_not_sent(side: Side) -> None:
    with pytest.raises(CallRejected, match="too large: 1001 bytes"):
        await side.caller.call(Message("", "q", b"x" * 1001), bytes, 2.0)
    assert not side.wires


async def test_a_reply_that_can_not_be_made_is_refused_before_asking(side: Side) -> None:
    with pytest.raises(ConfigurationError, match="the call asks for"):
        await side.begin(reply=Side)
    assert not side.wires


async def test_idle_channels_make_room(side: Side) -> None:
    for number in range(CHANNELS_MAX + 3):
        task = side.begin(f"exchange {number}")
        (question,) = await side.until_asked(number)
        side.wires[number].answers(question, b"")
        await task
    assert [wire.is_open for wire in side.wires] == [False] * 3 + [True] * CHANNELS_MAX


async def test_draining_waits_for_calls_and_closing_ends_them(side: Side) -> None:
    await side.caller.drain()
    task = side.begin()
    await side.until_asked()
    draining = asyncio.create_task(side.caller.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    await side.caller.close()
    with pytest.raises(Closed):
        await task
    await draining
    with pytest.raises(Closed):
        await side.begin()
    assert not any(wire.is_open for wire in side.wires)


async def test_a_cancelled_call_leaves_nothing(side: Side) -> None:
    task = side.begin()
    (question,) = await side.until_asked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    side.wires[0].answers(question, b"late")
    await side.caller.drain()
    assert side.clock.waiting == 0
