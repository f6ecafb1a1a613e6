"""Staying subscribed: between connects, against what breaks, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer_states import State
from mqkit.consumer.settlement_steps import Arrival
from mqkit.consumer.stats import Stats
from mqkit.consumer.subscription import RESUBSCRIBE_MAX_S, Subscription
from mqkit.errors import ChannelError, ConnectionLost, MqkitError
from mqkit.message import Delivery, Properties
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Connection, OnCancel, OnClosed, OnDelivery

pytestmark = pytest.mark.anyio

OPTIONS = ConsumeOptions(5, exclusive=True, arguments={"x-priority": 3})
MISSING = ChannelError(404, "NOT_FOUND - no queue 'q' in vhost '/'", 60, 20)


class ScriptedChannel:
    """A channel that starts consumers, or fails with ``problem``."""

    def __init__(self, problem: MqkitError | None) -> None:
        self.is_open = True
        self.said: list[str] = []
        self.options: dict[str, Any] = {}
        self.deliver: OnDelivery
        self.cancelled_by_broker: OnCancel
        self._problem = problem
        self._callbacks: list[OnClosed] = []

    async def qos(self, prefetch_count: int) -> None:
        self.said.append(f"qos {prefetch_count}")

    async def consume(
        self, queue: str, on_delivery: OnDelivery, *, on_cancel: OnCancel, **options: Any
    ) -> str:
        await asyncio.sleep(0)
        if self._problem is not None:
            self.breaks(self._problem)
            raise self._problem
        self.said.append(f"consume {queue}")
        self.options = options
        self.deliver, self.cancelled_by_broker = on_delivery, on_cancel
        return "tag"

    async def cancel(self, consumer_tag: str) -> None:
        self.said.append(f"cancel {consumer_tag}")

    async def close(self) -> None:
        self.breaks(None)

    def breaks(self, error: MqkitError | None) -> None:
        self.is_open = False
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(error)

    def on_closed(self, callback: OnClosed) -> None:
        self._callbacks.append(callback)


class ScriptedLink:
    """An app with one connection, itself; it opens channels with the problem of the moment."""

    def __init__(self) -> None:
        self.problem: MqkitError | None = None
        self.lost: ConnectionLost | None = None
        self.channels: list[ScriptedChannel] = []
        self.declared = 0

    def consuming_connection(self) -> Connection:
        if self.lost is not None:
            raise self.lost
        return cast(Connection, self)

    async def channel(self) -> ScriptedChannel:
        self.channels.append(ScriptedChannel(self.problem))
        return self.channels[-1]

    async def open_connection(self, role: str) -> Connection:
        return cast(Connection, self)

    async def declare(self, connection: Connection) -> None:
        self.declared += 1

    def current_name(self, queue: str) -> str:
        return f"{queue}-now"


class Parts:
    """A subscription, and what it works with."""

    def __init__(self) -> None:
        self.link, self.stats, self.clock = ScriptedLink(), Stats(), FakeClock()
        self.arrivals: list[Arrival] = []
        self.subscription = Subscription(
            "q", OPTIONS, self.arrivals.append, self.link, self.stats, clock=self.clock
        )

    def state(self) -> State:
        """A call, for a type checker takes an attribute to stay as it was."""
        return self.subscription.state

    async def subscribe(self) -> None:
        await self.subscription.subscribe(cast(Connection, self.link))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.subscription.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def backoff_over(self) -> None:
        """The next repair begins, and comes to its end."""
        await self.clock.until_waiting(1)
        self.clock.advance(RESUBSCRIBE_MAX_S)
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
def parts() -> Parts:
    return Parts()


async def test_it_consumes_the_queue_by_its_name_of_the_moment(parts: Parts) -> None:
    await parts.subscribe()
    (channel,) = parts.link.channels
    assert channel.said == ["qos 5", "consume q-now"]
    assert parts.subscription.state is State.CONSUMING
    delivery = Delivery("", "q", b"", Properties(), 1, False)
    channel.deliver(delivery)
    assert [each.delivery for each in parts.arrivals] == [delivery]
    assert cast(Any, parts.arrivals[0].channel) is channel
    assert parts.stats.delivered == 1
    assert channel.options == {
        "no_ack": False,
        "exclusive": True,
        "consumer_tag": "",
        "arguments": {"x-priority": 3},
    }


async def test_subscribing_twice_is_once(parts: Parts) -> None:
    await parts.subscribe()
    await parts.subscribe()
    assert len(parts.link.channels) == 1


async def test_a_queue_that_is_missing_is_final_at_the_first_start_only(parts: Parts) -> None:
    parts.link.problem = MISSING
    with pytest.raises(ChannelError):
        await parts.subscribe()
    parts.link.problem = None
    await parts.subscribe()
    parts.link.channels[-1].breaks(ConnectionLost("cut"))
    parts.link.problem = MISSING
    await parts.subscribe()  # the supervisor's hook, after the next connect
    assert parts.subscription.state is State.IDLE


async def test_a_cancel_of_the_broker_is_repaired_on_the_same_channel(parts: Parts) -> None:
    """The same channel, for its deliveries must still be settled there."""
    await parts.subscribe()
    (channel,) = parts.link.channels
    async with parts.running():
        channel.cancelled_by_broker("tag")
        await parts.backoff_over()
    assert parts.subscription.state is State.CONSUMING
    assert (parts.link.declared, parts.stats.cancelled_by_broker) == (1, 1)
    assert channel.said == ["qos 5", "consume q-now", "consume q-now"]


async def test_a_channel_that_the_broker_closed_is_replaced(parts: Parts) -> None:
    await parts.subscribe()
    async with parts.running():
        parts.link.channels[0].breaks(ChannelError(406, "PRECONDITION_FAILED - timeout"))
        await parts.backoff_over()
    assert parts.subscription.state is State.CONSUMING
    assert len(parts.link.channels) == 2


async def test_it_goes_on_trying_while_the_queue_is_missing(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    await parts.subscribe()
    async with parts.running():
        parts.link.problem = MISSING
        parts.link.channels[0].breaks(MISSING)
        for _ in range(3):
            await parts.backoff_over()
            assert parts.subscription.state is State.IDLE
        parts.link.problem = None
        await parts.backoff_over()
    assert parts.subscription.state is State.CONSUMING
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4
    *failed, again = caplog.messages
    assert all(line.startswith("q can't be consumed, it is tried again: 404") for line in failed)
    assert again == "q is consumed again"


async def test_a_lost_connection_is_left_to_the_supervisor(parts: Parts) -> None:
    await parts.subscribe()
    async with parts.running():
        parts.link.lost = ConnectionLost("cut")
        parts.link.channels[0].breaks(ConnectionLost("cut"))
        await parts.backoff_over()
        assert parts.link.declared == 0
        parts.link.lost = None
        await parts.subscribe()
    assert parts.subscription.state is State.CONSUMING


async def test_a_drain_cancels_the_consumer_and_the_end_closes_its_channel(parts: Parts) -> None:
    await parts.subscribe()
    (channel,) = parts.link.channels
    await parts.subscription.cancel()
    assert channel.said[-1] == "cancel tag"
    assert channel.is_open
    await parts.subscription.close()
    assert not channel.is_open
    assert parts.subscription.state is State.STOPPED


@pytest.mark.parametrize("begin", [0, 1])
async def test_a_drain_in_the_middle_of_subscribing_leaves_no_consumer(
    parts: Parts, begin: int
) -> None:
    task = asyncio.create_task(parts.subscribe())
    for _ in range(begin):
        await asyncio.sleep(0)
    await parts.subscription.cancel()
    await task
    assert parts.subscription.state is State.DRAINING
    for channel in parts.link.channels:
        assert channel.said.count("cancel tag") == channel.said.count("consume q-now")


async def test_after_the_end_nothing_is_subscribed(parts: Parts) -> None:
    await parts.subscription.cancel()
    await parts.subscription.close()
    await parts.subscribe()
    assert parts.link.channels == []


# -- pausing -------------------------------------------------------------------------------------


async def test_a_pause_cancels_the_consumer_and_resuming_starts_it_on_the_same_channel(
    parts: Parts,
) -> None:
    await parts.subscribe()
    (channel,) = parts.link.channels
    for _ in range(2):
        await parts.subscription.pause()
        assert parts.state() is State.PAUSED
    for _ in range(2):
        await parts.subscription.resume()
        assert parts.state() is State.CONSUMING
    assert channel.said == ["qos 5", "consume q-now", "cancel tag", "consume q-now"]


async def test_a_paused_one_is_not_subscribed_after_a_connect_or_a_loss(parts: Parts) -> None:
    await parts.subscribe()
    await parts.subscription.pause()
    async with parts.running():
        parts.link.channels[0].breaks(ConnectionLost("cut"))
        await parts.subscribe()
        assert parts.state() is State.PAUSED
        await parts.subscription.resume()
    assert parts.state() is State.CONSUMING
    assert [channel.said[-1] for channel in parts.link.channels] == ["cancel tag", "consume q-now"]


async def test_one_that_is_held_from_the_beginning_waits_to_be_resumed(parts: Parts) -> None:
    parts.subscription.hold()
    await parts.subscribe()
    assert parts.link.channels == []
    await parts.subscription.resume()
    assert parts.state() is State.CONSUMING


async def test_resuming_without_a_connection_leaves_it_to_the_supervisor(parts: Parts) -> None:
    await parts.subscribe()
    await parts.subscription.pause()
    parts.link.channels[0].breaks(ConnectionLost("cut"))
    parts.link.lost = ConnectionLost("cut")
    await parts.subscription.resume()
    assert parts.state() is State.IDLE
    parts.link.lost = None
    await parts.subscribe()
    assert parts.state() is State.CONSUMING


async def test_a_queue_that_is_missing_when_it_is_resumed_is_waited_for(parts: Parts) -> None:
    """Also where it was never consumed: the app runs, and one queue must not end it."""
    parts.subscription.hold()
    parts.link.problem = MISSING
    async with parts.running():
        await parts.subscription.resume()
        await parts.subscribe()  # the supervisor's hook: it must not raise
        assert parts.state() is State.IDLE
        parts.link.problem = None
        await parts.backoff_over()
    assert parts.state() is State.CONSUMING


async def test_a_drain_ends_a_pause_for_good(parts: Parts) -> None:
    await parts.subscribe()
    await parts.subscription.pause()
    await parts.subscription.cancel()
    await parts.subscription.resume()
    assert parts.state() is State.DRAINING
    assert parts.link.channels[0].said.count("cancel tag") == 1


async def test_a_pause_waits_for_a_subscribe_under_way_and_undoes_it(parts: Parts) -> None:
    subscribing = asyncio.create_task(parts.subscribe())
    await asyncio.sleep(0)
    await parts.subscription.pause()
    await subscribing
    assert parts.state() is State.PAUSED
    assert parts.link.channels[0].said[-2:] == ["consume q-now", "cancel tag"]


async def test_a_queue_in_exclusive_use_is_told_in_words(parts: Parts) -> None:
    parts.link.problem = ChannelError(403, "ACCESS_REFUSED - queue 'q' in exclusive use", 60, 20)
    with pytest.raises(ChannelError, match="must be the only one"):
        await parts.subscribe()


async def test_another_prefetch_holds_from_the_next_consumer_on(parts: Parts) -> None:
    await parts.subscribe()
    (channel,) = parts.link.channels
    others: list[Arrival] = []
    for prefetch in (1, 1, 5):
        await parts.subscription.pause()
        parts.subscription.deliver_to(others.append, prefetch)
        await parts.subscription.resume()
    again = ["cancel tag", "consume q-now"]
    assert channel.said == [
        *("qos 5", "consume q-now", "cancel tag", "qos 1", "consume q-now"),
        *(*again, "cancel tag", "qos 5", "consume q-now"),
    ]
    channel.deliver(Delivery("", "q", b"", Properties(), 1, False))
    assert (len(parts.arrivals), len(others)) == (0, 1)
