"""Callers in the line before a publisher's lanes: whose turn it is, and whose will not come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from mqkit.errors import Closed, ConfigurationError, ConnectionLost
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.publisher import Publisher

pytestmark = pytest.mark.anyio

BOUND = 10


def message(text: str) -> Message:
    return Message("x", "k", text.encode(), Properties(message_id=text[:1]))


async def every_chance() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Caller:
    """A call whose body is made late; ``made`` tells when."""

    def __init__(self, publisher: Publisher, text: str, **options: Any) -> None:
        self.text = text
        self.made = False
        publishing = publisher.publish(replace(message(text), body=b""), fill=self._fill, **options)
        self.task: asyncio.Task[Outcome] = asyncio.create_task(publishing)

    def _fill(self, draft: Message) -> Message:
        assert draft.body == b""
        self.made = True
        return replace(draft, body=self.text.encode())


def ready(publisher: Publisher, text: str, **options: Any) -> asyncio.Task[Outcome]:
    return asyncio.create_task(publisher.publish(message(text), **options))


@pytest.fixture
async def publisher(stage: Any) -> AsyncIterator[Publisher]:
    """While the broker is away, with room for ten octets."""
    stage.writable.clear()
    async with stage.publisher(waiting_octets_max=BOUND, window=100) as publisher:
        yield publisher


async def confirmed(stage: Any, *texts: str) -> None:
    """Let the broker take everything, which has to come in this order."""
    stage.writable.set()
    answered = 0
    while answered < len(texts):
        written = await stage.written(0, answered + 1)
        assert written == list(texts[: len(written)])
        stage.channels[0].answer(*(Confirmed(text[:1]) for text in written[answered:]))
        answered = len(written)
        await every_chance()


async def test_a_body_is_made_when_there_is_room_for_it(stage: Any, publisher: Publisher) -> None:
    first = ready(publisher, "a" * BOUND)
    await every_chance()
    assert publisher.backlog.room == 0
    callers = [Caller(publisher, "b"), Caller(publisher, "c")]
    await every_chance()
    assert [caller.made for caller in callers] == [False, False]
    assert publisher.unsettled == 3
    await confirmed(stage, "a" * BOUND, "b", "c")
    assert await first == Confirmed("a")
    assert [await caller.task for caller in callers] == [Confirmed("b"), Confirmed("c")]
    assert publisher.backlog.room == BOUND


async def test_the_bound_is_never_passed_and_first_come_is_first_served(
    stage: Any, publisher: Publisher
) -> None:
    first = ready(publisher, "a" * 6)
    await every_chance()
    large = Caller(publisher, "b" * 5)  # there is room, and not enough
    small = ready(publisher, "c")  # for which there would be
    await every_chance()
    assert publisher.backlog.room == 4
    assert large.made, "the first in line finds out how much room it needs"
    assert not small.done()
    await confirmed(stage, "a" * 6, "b" * 5, "c")
    assert all([await first, await large.task, await small])


async def test_a_message_larger_than_the_bound_goes_when_nothing_else_waits(
    stage: Any, publisher: Publisher
) -> None:
    first = ready(publisher, "a")
    await every_chance()
    huge = ready(publisher, "b" * (3 * BOUND))
    batch = asyncio.create_task(publisher.publish_batch([message("c" * BOUND)] * 2))
    last = ready(publisher, "d")
    await every_chance()
    assert publisher.backlog.room == BOUND - 1
    await confirmed(stage, "a", "b" * (3 * BOUND), "c" * BOUND, "c" * BOUND, "d")
    assert all([await first, await huge, *await batch, await last])
    assert publisher.backlog.room == BOUND


async def test_with_nothing_waiting_even_that_one_goes_at_once(
    stage: Any, publisher: Publisher
) -> None:
    huge = ready(publisher, "a" * (3 * BOUND))
    await every_chance()
    assert publisher.backlog.room == -2 * BOUND
    await confirmed(stage, "a" * (3 * BOUND))
    assert await huge


async def test_waiting_in_line_is_within_the_deadline(stage: Any, publisher: Publisher) -> None:
    first = ready(publisher, "a" * BOUND, deadline_s=100.0)
    await every_chance()
    single = Caller(publisher, "b", deadline_s=5.0)
    batch = asyncio.create_task(publisher.publish_batch([message("c")], deadline_s=5.0))
    await every_chance()
    stage.clock.advance(5.0)
    outcome = await single.task
    assert outcome == Unknown(
        "the message was never sent within 5 s (client: as the test says)", "b", sent=False
    )
    assert await batch == [replace(outcome, message_id="c")]
    assert not single.made
    assert not publisher.backlog.line
    await confirmed(stage, "a" * BOUND)
    assert await first


async def test_time_in_line_counts(stage: Any, publisher: Publisher) -> None:
    first = ready(publisher, "a" * BOUND, deadline_s=100.0)
    await every_chance()
    late = [ready(publisher, "b", deadline_s=5.0)]
    late.append(asyncio.create_task(_only(publisher, "c", deadline_s=5.0)))
    await every_chance()
    stage.clock.advance(3.0)
    stage.writable.set()
    await stage.written(0, 3)
    stage.clock.advance(2.0)
    await every_chance()
    assert [each.done() for each in late] == [True, True]
    for outcome in [await each for each in late]:
        assert isinstance(outcome, Unknown)
        assert "was sent, but not confirmed within 5 s" in outcome.detail
    stage.channels[0].answer(*map(Confirmed, "abc"))
    assert await first


async def _only(publisher: Publisher, text: str, **options: Any) -> Outcome:
    [outcome] = await publisher.publish_batch([message(text)], **options)
    return outcome


async def test_who_leaves_the_line_keeps_nobody_up(stage: Any, publisher: Publisher) -> None:
    first = ready(publisher, "a" * 6)
    await every_chance()
    impatient, patient = ready(publisher, "b" * 5), ready(publisher, "c")
    await every_chance()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    await every_chance()
    assert publisher.backlog.room == 3
    await confirmed(stage, "a" * 6, "c")
    assert await first
    assert await patient


async def test_a_body_that_cant_be_made_is_its_callers_error_alone(
    stage: Any, publisher: Publisher
) -> None:
    def fail(draft: Message) -> Message:
        raise ConfigurationError("it can't be published")

    first = ready(publisher, "a" * BOUND)
    await every_chance()
    wrong = asyncio.create_task(publisher.publish(message(""), fill=fail))
    too_large, fine = Caller(publisher, "b" * 101), Caller(publisher, "c")
    await confirmed(stage, "a" * BOUND, "c")
    assert await first
    with pytest.raises(ConfigurationError, match="it can't be published"):
        await wrong
    outcome = await too_large.task
    assert isinstance(outcome, Rejected)
    assert outcome.reason is RejectReason.TOO_LARGE
    assert await fine.task


async def test_those_in_line_who_dont_wait_for_a_broker_that_blocks_hear_of_it(
    stage: Any, publisher: Publisher
) -> None:
    first = ready(publisher, "a" * BOUND)
    await every_chance()
    hasty = Caller(publisher, "b", on_blocked="fail")
    batch = asyncio.create_task(publisher.publish_batch([message("c")], on_blocked="fail"))
    patient = Caller(publisher, "d")
    await every_chance()
    stage.block("low on memory")
    await every_chance()
    assert hasty.task.done()
    assert batch.done()
    assert await hasty.task == Rejected(RejectReason.BLOCKED, "low on memory", "b")
    assert await batch == [Rejected(RejectReason.BLOCKED, "low on memory", "c")]
    assert not hasty.made
    stage.unblock()
    await confirmed(stage, "a" * BOUND, "d")
    assert all([await first, await patient.task])


async def test_room_that_was_given_up_is_room_again(stage: Any, publisher: Publisher) -> None:
    given_up = ready(publisher, "a" * BOUND)
    await every_chance()
    given_up.cancel()
    waiting = ready(publisher, "b")
    await confirmed(stage, "b")
    assert await waiting
    assert publisher.backlog.room == BOUND


async def test_a_message_in_doubt_takes_room_while_it_waits_to_be_written_again(
    stage: Any, publisher: Publisher
) -> None:
    publishing = ready(publisher, "a" * BOUND)
    stage.writable.set()
    await stage.written(0, 1)
    assert publisher.backlog.room == BOUND
    stage.writable.clear()
    stage.channels[0].breaks(ConnectionLost("cut"))
    await every_chance()
    assert publisher.backlog.room == 0
    waiting = Caller(publisher, "b")
    await every_chance()
    assert not waiting.made
    stage.writable.set()
    await stage.written(1, 2)
    stage.channels[1].answer(Confirmed("a"), Confirmed("b"))
    assert await publishing
    assert await waiting.task
    assert publisher.backlog.room == BOUND


async def test_closing_ends_those_in_line(stage: Any) -> None:
    stage.writable.clear()
    async with stage.publisher(waiting_octets_max=BOUND) as publisher:
        calls = [ready(publisher, "a" * BOUND)]
        await every_chance()
        late = Caller(publisher, "b")
        calls += [late.task, ready(publisher, "c")]
        await every_chance()
    for call in calls:
        with pytest.raises(Closed):
            await call
    assert not late.made


async def test_a_client_that_never_can_publish_says_so_to_those_in_line(
    stage: Any, publisher: Publisher
) -> None:
    calls = [ready(publisher, "a" * BOUND)]
    await every_chance()
    calls += [ready(publisher, "b"), ready(publisher, "c")]
    await every_chance()
    stage.over = Closed("the client is closed")
    stage.writable.set()
    for call in calls:
        with pytest.raises(Closed):
            await call
    assert publisher.backlog.room == BOUND


async def test_draining_waits_for_those_in_line(stage: Any, publisher: Publisher) -> None:
    calls = [ready(publisher, "a" * BOUND)]
    await every_chance()
    calls.append(ready(publisher, "b"))
    await every_chance()
    draining = asyncio.create_task(publisher.drain())
    await confirmed(stage, "a" * BOUND, "b")
    async with asyncio.timeout(10):
        await draining
    assert all(call.done() for call in calls)
