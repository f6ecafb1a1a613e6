"""A lane with messages left in doubt, and its bound on messages in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mqkit.errors import ChannelError, Closed, ConnectionLost
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.publisher import Publisher

pytestmark = pytest.mark.anyio

REFUSED = ChannelError(406, "PRECONDITION_FAILED - for a reason that names nobody", 60, 40)


def message(text: str) -> Message:
    return Message("x", "k", text.encode(), Properties(message_id=text))


@pytest.fixture
async def publisher(stage: Any) -> AsyncIterator[Publisher]:
    async with stage.publisher() as publisher:
        yield publisher


def start(publisher: Publisher, *texts: str) -> asyncio.Task[list[Outcome]]:
    return asyncio.create_task(publisher.publish_batch([message(text) for text in texts]))


async def test_no_more_than_a_window_is_in_flight(stage: Any, publisher: Publisher) -> None:
    publishing = start(publisher, "1", "2", "3", "4", "5")
    assert await stage.written(0, 3) == ["1", "2", "3"]
    stage.channels[0].answer(Confirmed("1"))
    assert await stage.written(0, 4) == ["1", "2", "3", "4"]
    stage.channels[0].answer(Confirmed("2"), Confirmed("3"), Confirmed("4"))
    await stage.written(0, 5)
    stage.channels[0].answer(Confirmed("5"))
    assert [outcome.message_id for outcome in await publishing] == ["1", "2", "3", "4", "5"]


async def test_what_a_lost_connection_left_in_doubt_is_published_again_first_and_in_order(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", "2", "3", "4", "new")
    await stage.written(0, 3)
    stage.channels[0].answer(Confirmed("1"))
    await stage.written(0, 4)
    stage.channels[0].breaks(ConnectionLost("cut"))
    assert await stage.written(1, 3) == ["2", "3", "4"]
    stage.channels[1].answer(Confirmed("2"), Confirmed("3"), Confirmed("4"))
    await stage.written(1, 4)
    stage.channels[1].answer(Confirmed("new"))
    assert all(await publishing)


async def test_after_a_refusal_the_doubtful_go_one_by_one_until_the_guilty_is_found(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "good", "bad", "late")
    await stage.written(0, 3)
    stage.channels[0].breaks(REFUSED)
    assert await stage.written(1, 1) == ["good"]
    stage.channels[1].answer(Confirmed("good"))
    assert await stage.written(1, 2) == ["good", "bad"]
    stage.channels[1].answer(Rejected(RejectReason.REFUSED, "", "bad"))
    stage.channels[1].breaks(REFUSED)
    assert await stage.written(2, 1) == ["late"]
    stage.channels[2].answer(Confirmed("late"))
    assert [bool(outcome) for outcome in await publishing] == [True, False, True]


async def test_of_what_was_answered_together_only_the_doubtful_are_published_again(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", "2", "3", "4")
    await stage.written(0, 3)
    nacked = Rejected(RejectReason.NACKED, "", "2")
    stage.channels[0].answer(Unknown("", "1"), nacked, Unknown("", "3"))
    assert await stage.written(0, 6) == ["1", "2", "3", "1", "3", "4"]
    stage.channels[0].answer(Confirmed("1"), Confirmed("3"), Confirmed("4"))
    assert await publishing == [Confirmed("1"), nacked, Confirmed("3"), Confirmed("4")]


async def test_what_is_in_doubt_and_larger_than_the_room_goes_in_parts(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", "2", "3")
    other = start(publisher, "other")
    await stage.written(0, 3)
    stage.channels[0].answer(Confirmed("1"))
    await stage.written(0, 4)
    stage.channels[0].breaks(ConnectionLost("cut"))
    assert await stage.written(1, 3) == ["2", "3", "other"]
    stage.channels[1].answer(Confirmed("2"))
    stage.channels[1].breaks(ConnectionLost("cut again"))
    assert await stage.written(2, 2) == ["3", "other"]
    stage.channels[2].answer(Confirmed("3"), Confirmed("other"))
    assert all(await publishing)
    assert all(await other)


async def test_batches_and_single_messages_keep_their_order(
    stage: Any, publisher: Publisher
) -> None:
    stage.writable.clear()
    calls = [start(publisher, "1", "2")]
    singles = [asyncio.create_task(publisher.publish(message(text))) for text in ("3", "4")]
    calls.append(start(publisher, "5", "6", "7"))
    await stage.clock.until_waiting(1)
    stage.writable.set()
    assert await stage.written(0, 3) == ["1", "2", "3"]
    stage.channels[0].answer(*map(Confirmed, "123"))
    assert await stage.written(0, 6) == ["1", "2", "3", "4", "5", "6"]
    stage.channels[0].answer(*map(Confirmed, "456"))
    await stage.written(0, 7)
    stage.channels[0].answer(Confirmed("7"))
    assert [await single for single in singles] == [Confirmed("3"), Confirmed("4")]
    assert await calls[0] == [Confirmed("1"), Confirmed("2")]
    assert await calls[1] == [Confirmed("5"), Confirmed("6"), Confirmed("7")]


async def test_a_batch_that_is_given_up_halfway_is_not_written_further(
    stage: Any, publisher: Publisher
) -> None:
    given_up = start(publisher, "1", "2", "3", "4", "5")
    await stage.written(0, 3)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    publishing = start(publisher, "wanted")
    stage.channels[0].answer(Confirmed("1"), Unknown("", "2"), Confirmed("3"))
    assert await stage.written(0, 4) == ["1", "2", "3", "wanted"]
    stage.channels[0].answer(Confirmed("wanted"))
    assert await publishing == [Confirmed("wanted")]
    assert [lane.load for lane in publisher._lanes] == [0]


async def test_one_message_twice_in_a_batch_has_two_outcomes(
    stage: Any, publisher: Publisher
) -> None:
    same = message("same")
    publishing = asyncio.create_task(publisher.publish_batch([same, same]))
    await stage.written(0, 2)
    rejected = Rejected(RejectReason.UNROUTABLE, "", "same")
    stage.channels[0].answer(Confirmed("same"), rejected)
    assert await publishing == [Confirmed("same"), rejected]


async def test_a_lane_is_as_busy_as_it_has_messages_without_an_outcome(
    stage: Any, publisher: Publisher
) -> None:
    [lane] = publisher._lanes
    publishing = start(publisher, "1", "x" * 101, "2", "3", "4", "5")
    await stage.written(0, 3)
    assert lane.load == 5
    stage.channels[0].answer(Confirmed("1"))
    await stage.written(0, 4)
    assert lane.load == 4
    stage.channels[0].breaks(ConnectionLost("cut"))
    assert lane.load == 4
    await stage.written(1, 3)
    stage.channels[1].answer(*map(Confirmed, "234"))
    await stage.written(1, 4)
    stage.channels[1].answer(Confirmed("5"))
    assert sum(map(bool, await publishing)) == 5
    assert lane.load == 0


async def test_who_does_not_want_it_sent_twice_has_the_doubt_at_once(
    stage: Any, publisher: Publisher
) -> None:
    messages = [message(text) for text in ("1", "2", "3", "new")]
    publishing = asyncio.create_task(publisher.publish_batch(messages, resend=False))
    single = asyncio.create_task(publisher.publish(message("single"), resend=False))
    other = start(publisher, "other")
    await stage.written(0, 3)
    stage.channels[0].answer(Confirmed("1"))
    stage.channels[0].breaks(ConnectionLost("cut"))
    assert await stage.written(1, 3) == ["new", "single", "other"]  # they were not written before
    stage.channels[1].answer(Confirmed("new"))
    assert await publishing == [Confirmed("1"), *[Unknown("closed")] * 2, Confirmed("new")]
    stage.channels[1].breaks(REFUSED)
    assert await single == Unknown("closed")
    assert await stage.written(2, 1) == ["other"]
    stage.channels[2].answer(Confirmed("other"))
    assert await other == [Confirmed("other")]


async def test_a_message_that_a_channel_did_not_send_is_in_no_doubt(
    stage: Any, publisher: Publisher
) -> None:
    messages = [message("1"), message("2")]
    publishing = asyncio.create_task(publisher.publish_batch(messages, resend=False))
    await stage.written(0, 2)
    stage.channels[0].answer(Unknown("closed", "1"), Unknown("not sent", "2", sent=False))
    assert await stage.written(0, 3) == ["1", "2", "2"]
    stage.channels[0].answer(Confirmed("2"))
    assert await publishing == [Unknown("closed", "1"), Confirmed("2")]


async def test_a_deadline_says_whether_the_message_was_sent(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "1", "2", "3", "4")
    await stage.written(0, 3)
    stage.channels[0].answer(Confirmed("1"))
    stage.writable.clear()  # the broker blocks before the fourth
    for _ in range(10):
        await asyncio.sleep(0)  # every chance to write it all the same
    stage.clock.advance(30.0)
    first, second, _, fourth = await publishing
    assert first == Confirmed("1")
    assert isinstance(second, Unknown)
    assert "was sent, but not confirmed within 30 s" in second.detail
    assert second.sent
    assert isinstance(fourth, Unknown)
    assert not fourth.sent
    assert "was never sent within 30 s (client: as the test says)" in fourth.detail


async def test_blocked_publishes_wait_and_then_go(stage: Any, publisher: Publisher) -> None:
    stage.writable.clear()
    publishing = start(publisher, "1")
    await stage.clock.until_waiting(1)
    assert stage.channels == []
    stage.writable.set()
    await stage.written(0, 1)
    stage.channels[0].answer(Confirmed("1"))
    assert await publishing == [Confirmed("1")]


async def test_what_nobody_waits_for_any_more_is_not_published(
    stage: Any, publisher: Publisher
) -> None:
    stage.writable.clear()
    given_up = start(publisher, "given up")
    await stage.clock.until_waiting(1)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    publishing = start(publisher, "wanted")
    stage.writable.set()
    assert await stage.written(0, 1) == ["wanted"]
    stage.channels[0].answer(Confirmed("wanted"))
    assert await publishing == [Confirmed("wanted")]


async def test_a_client_that_never_can_publish_says_so_to_every_caller(
    stage: Any, publisher: Publisher
) -> None:
    stage.over = Closed("the client is closed")
    with pytest.raises(Closed):
        await start(publisher, "1")
    with pytest.raises(Closed):
        await start(publisher, "2")


async def test_closing_ends_calls_under_way(stage: Any) -> None:
    async with stage.publisher() as publisher:
        publishing = start(publisher, "1")
        await stage.written(0, 1)
    with pytest.raises(Closed):
        await publishing
    with pytest.raises(Closed):
        await start(publisher, "2")


async def test_draining_waits_for_calls_under_way(stage: Any, publisher: Publisher) -> None:
    await publisher.drain()
    publishing = start(publisher, "1")
    await stage.written(0, 1)
    draining = asyncio.create_task(publisher.drain())
    assert publisher.unsettled == 1
    stage.channels[0].answer(Confirmed("1"))
    async with asyncio.timeout(10):
        await draining
    assert publishing.done()
    assert publisher.unsettled == 0


async def test_too_large_is_rejected_unsent_and_the_rest_goes(
    stage: Any, publisher: Publisher
) -> None:
    publishing = start(publisher, "x" * 100, "x" * 101)
    assert await stage.written(0, 1) == ["x" * 100]
    stage.channels[0].answer(Confirmed("ok"))
    first, second = await publishing
    assert first
    assert isinstance(second, Rejected)
    assert second.reason is RejectReason.TOO_LARGE
    assert "101 bytes" in second.detail
    [alone] = await start(publisher, "x" * 101)
    assert not alone


async def test_nothing_to_publish_has_no_outcomes(publisher: Publisher) -> None:
    assert await publisher.publish_batch([]) == []


def at_once(stage: Any) -> list[str]:
    """The bodies that were written without waiting for the event loop to go round."""
    return [each.body.decode() for channel in stage.channels for each in channel.at_once]


async def confirmed_alone(stage: Any, publisher: Publisher, text: str, count: int) -> None:
    """Publish one message, with nobody else about: the ``count``-th on the channel."""
    publishing = asyncio.create_task(publisher.publish(message(text)))
    await stage.written(0, count)
    stage.channels[0].answer(Confirmed(text))
    assert await publishing == Confirmed(text)


@pytest.fixture
async def alone(
    new_stage: Callable[[Any], Any], new_run_channel: Callable[[], Any]
) -> AsyncIterator[tuple[Any, Publisher]]:
    """A publisher whose only caller has published before, and channels that write at once."""
    stage = new_stage(new_run_channel)
    async with stage.publisher() as publisher:
        await confirmed_alone(stage, publisher, "first", 1)
        await asyncio.sleep(0)
        yield stage, publisher


async def test_who_publishes_alone_has_the_next_message_written_at_once(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    for number, text in enumerate("abc"):
        await confirmed_alone(stage, publisher, text, 2 + number)
    assert at_once(stage) == ["a", "b", "c"]


async def test_callers_who_come_together_share_a_write_each_time(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    for turn in range(1, 4):
        texts = [f"{turn}{each}" for each in "abc"]
        calls = [asyncio.create_task(publisher.publish(message(text))) for text in texts]
        await stage.written(0, 1 + 3 * turn)
        stage.channels[0].answer(*map(Confirmed, texts))
        assert all([await call for call in calls])
    assert at_once(stage) == ["1a"]  # nobody could know that others would come


async def test_with_something_in_flight_a_message_waits_for_the_end_of_the_turn(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    calls = [asyncio.create_task(publisher.publish(message("1")))]
    await stage.written(0, 2)
    calls.append(asyncio.create_task(publisher.publish(message("2"))))
    await stage.written(0, 3)
    assert at_once(stage) == ["1"]
    stage.channels[0].answer(Confirmed("1"), Confirmed("2"))
    assert all([await call for call in calls])


async def test_callers_whose_confirms_come_together_share_their_next_write(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone

    async def caller(*texts: str) -> list[Outcome]:
        return [await publisher.publish(message(text)) for text in texts]

    one = asyncio.create_task(caller("1", "3"))
    await stage.written(0, 2)
    other = asyncio.create_task(caller("2", "4"))
    await stage.written(0, 3)
    stage.channels[0].answer(Confirmed("1"), Confirmed("2"))
    assert await stage.written(0, 5) == ["first", "1", "2", "3", "4"]
    assert at_once(stage) == ["1"]
    stage.channels[0].answer(Confirmed("3"), Confirmed("4"))
    assert all(await one + await other)


async def test_a_window_full_of_what_was_given_up_lets_nobody_through(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    for number, text in enumerate("123"):
        given_up = asyncio.create_task(publisher.publish(message(text)))
        await stage.written(0, 2 + number)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
    publishing = asyncio.create_task(publisher.publish(message("4")))
    for _ in range(10):
        await asyncio.sleep(0)  # every chance to write it all the same
    assert len(stage.channels[0].written) == 4
    stage.channels[0].answer(Confirmed("1"))
    await stage.written(0, 5)
    stage.channels[0].answer(*map(Confirmed, "234"))
    assert await publishing == Confirmed("4")


async def test_a_batch_in_flight_is_not_nobody(alone: tuple[Any, Publisher]) -> None:
    stage, publisher = alone
    batch = start(publisher, "1")
    await stage.written(0, 2)
    single = asyncio.create_task(publisher.publish(message("2")))
    assert await stage.written(0, 3) == ["first", "1", "2"]
    assert at_once(stage) == []
    stage.channels[0].answer(Confirmed("1"), Confirmed("2"))
    assert await batch
    assert await single


async def test_a_lone_message_waits_while_the_broker_blocks(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    stage.writable.clear()
    publishing = asyncio.create_task(publisher.publish(message("1")))
    await stage.clock.until_waiting(1)
    for _ in range(10):
        await asyncio.sleep(0)  # every chance to write it all the same
    assert len(stage.channels[0].written) == 1
    stage.writable.set()
    await stage.written(0, 2)
    stage.channels[0].answer(Confirmed("1"))
    assert await publishing == Confirmed("1")
    assert at_once(stage) == []


async def test_a_lone_message_waits_while_the_socket_is_full(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    stage.channels[0].has_room = False
    await confirmed_alone(stage, publisher, "1", 2)
    assert at_once(stage) == []


async def test_a_lone_message_after_the_channel_is_gone_goes_on_the_next(
    alone: tuple[Any, Publisher],
) -> None:
    stage, publisher = alone
    stage.channels[0].breaks(ConnectionLost("cut"))
    publishing = asyncio.create_task(publisher.publish(message("1")))
    assert await stage.written(1, 1) == ["1"]
    stage.channels[1].answer(Confirmed("1"))
    assert await publishing == Confirmed("1")


@pytest.mark.parametrize("kind", ["plain", "at once"])
async def test_written_at_once_or_not_a_message_has_the_same_outcomes(
    new_stage: Callable[[Any], Any], new_run_channel: Callable[[], Any], kind: str
) -> None:
    stage = new_stage(new_run_channel)
    nacked = Rejected(RejectReason.NACKED, "", "nacked")
    async with stage.publisher() as publisher:
        await confirmed_alone(stage, publisher, "first", 1)
        channel = stage.channels[0]
        channel.has_room = kind == "at once"
        call = asyncio.create_task(publisher.publish(message("nacked")))
        await stage.written(0, 2)
        channel.answer(nacked)
        assert await call == nacked

        call = asyncio.create_task(publisher.publish(message("late")))
        await stage.written(0, 3)
        stage.clock.advance(30.0)
        late = await call
        assert isinstance(late, Unknown)
        assert "was sent, but not confirmed within 30 s" in late.detail
        channel.answer(Confirmed("late"))

        call = asyncio.create_task(publisher.publish(message("given up")))
        await stage.written(0, 4)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        channel.answer(Confirmed("given up"))

        call = asyncio.create_task(publisher.publish(message("doubtful")))
        await stage.written(0, 5)
        channel.breaks(REFUSED)
        assert await stage.written(1, 1) == ["doubtful"]
        stage.channels[1].answer(Confirmed("doubtful"))
        assert await call == Confirmed("doubtful")
        assert [lane.load for lane in publisher._lanes] == [0]
        assert publisher.unsettled == 0
    assert at_once(stage) == (
        ["nacked", "late", "given up", "doubtful"] if kind == "at once" else []
    )
