"""The breaker, step by step: on a consumer and a channel that write down what they are told."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mqkit.consumer.breaker.breaker import REPORTS_AT_FIRST, Breaker
from mqkit.consumer.breaker.circuit import PROBE_FIRST_S, PROBE_MAX_S, Circuit
from mqkit.consumer.breaker.states import State
from mqkit.consumer.pause import Pause
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.stats import Stats
from mqkit.message import Delivery, Properties
from mqkit.retry import Unavailable
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio

HOLD_S = 100.0
SAID = Unavailable("the database is down")


class Scripted:
    """A consumer and its channel. ``answers`` are what its handler says, in order."""

    def __init__(self, *answers: Unavailable | None, probes: int = 1, keeps: bool = True) -> None:
        self.said: list[str] = []
        self.answers = list(answers)
        self.is_open = True
        self.is_paused = False
        self.keeps_unavailable = keeps
        self.inbox: asyncio.Queue[Arrival | None] | None = None
        self.clock = FakeClock()

        async def nothing_is_published(messages: Any) -> Any:
            raise AssertionError(messages)

        self.settler = Settler(
            QueueRules("q"), nothing_is_published, Stats(), Pause(clock=self.clock)
        )
        self.breaker = Breaker(
            "q",
            self,
            self.settler,
            Circuit(probes, rng=lambda: 1.0),
            hold_s=HOLD_S,
            clock=self.clock,
        )

    def arrival(self, tag: int) -> Arrival:
        delivery = Delivery("", "q", b"", Properties(message_id=f"m{tag}"), tag, False)
        return Arrival(cast(Channel, self), delivery)

    def send(self, tag: int) -> None:
        """The broker delivers a message, of which it is asked for one at a time."""
        assert self.inbox is not None
        self.inbox.put_nowait(self.arrival(tag))

    async def trip(self, tag: int = 1) -> asyncio.Task[None]:
        task = asyncio.create_task(self.breaker.trip(self.arrival(tag), SAID))
        await pass_by()
        return task

    async def due(self, wait_s: float) -> None:
        await self.clock.until_waiting(1)
        self.clock.advance(wait_s)
        await pass_by()

    # -- as the breaker sees it --

    async def halt(self) -> None:
        self.said.append("halt")

    async def trickle(self, probes: asyncio.Queue[Arrival | None]) -> None:
        self.said.append("trickle")
        self.inbox = probes

    async def restore(self) -> None:
        self.said.append("restore")

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        self.said.append(f"handle {arrival.delivery.delivery_tag}")
        return self.answers.pop(0) if self.answers else None

    async def nack(self, delivery_tag: int, *, requeue: bool) -> None:
        assert requeue
        self.said.append(f"give back {delivery_tag}")


async def pass_by() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def ended(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(10):
        await task


async def test_the_message_at_hand_is_the_probe_and_goes_back_with_none_of_them() -> None:
    consumer = Scripted(SAID, SAID, None)
    task = await consumer.trip()
    assert (consumer.said, consumer.breaker.state) == (["halt"], State.OPEN)
    for number in range(3):
        assert not task.done()
        await consumer.due(PROBE_FIRST_S * 2**number)
    await ended(task)
    handled = [line for line in consumer.said if line != "halt"]
    assert handled == ["handle 1", "handle 1", "handle 1", "restore"]
    assert consumer.breaker.state is State.CLOSED
    assert consumer.settler.stats == Stats(unavailable=3, circuits_opened=1, circuits_closed=1)


async def test_a_probe_is_not_begun_before_its_time() -> None:
    consumer = Scripted()
    task = await consumer.trip()
    await consumer.due(PROBE_FIRST_S - 0.001)
    assert consumer.said == ["halt"]
    await consumer.due(0.001)
    await ended(task)


async def test_probes_come_one_at_a_time_until_they_are_enough() -> None:
    consumer = Scripted(probes=3)
    task = await consumer.trip()
    await consumer.due(PROBE_FIRST_S)
    assert consumer.said == ["halt", "handle 1", "trickle"]
    for tag in (2, 3):
        assert (task.done(), consumer.breaker.state) == (False, State.HALF_OPEN)
        consumer.send(tag)
        await pass_by()
    await ended(task)
    assert consumer.said[3:] == ["handle 2", "handle 3", "halt", "restore"]


async def test_a_probe_that_fails_after_others_is_kept_as_the_next_one() -> None:
    consumer = Scripted(None, SAID, probes=2)
    task = await consumer.trip()
    await consumer.due(PROBE_FIRST_S)
    consumer.send(2)
    await pass_by()
    assert consumer.said == ["halt", "handle 1", "trickle", "handle 2", "halt"]
    await consumer.due(2 * PROBE_FIRST_S)
    assert consumer.said[5:] == ["handle 2", "trickle"]
    consumer.send(3)
    await ended(task)


async def test_what_other_workers_were_at_goes_back_once() -> None:
    consumer = Scripted()
    task = await consumer.trip(1)
    await ended(await consumer.trip(2))
    assert consumer.said == ["halt", "give back 2"]
    await consumer.due(PROBE_FIRST_S)
    await ended(task)
    assert consumer.settler.stats.circuits_opened == 1
    assert consumer.settler.stats.unavailable == 2


async def test_a_message_is_held_for_so_long_and_no_longer() -> None:
    consumer = Scripted(*[SAID] * 50)
    task = await consumer.trip()
    held_s, wait_s = 0.0, PROBE_FIRST_S
    while held_s + wait_s < HOLD_S:
        await consumer.due(wait_s)
        held_s, wait_s = held_s + wait_s, min(2 * wait_s, PROBE_MAX_S)
    assert "give back 1" not in consumer.said
    await consumer.due(HOLD_S - held_s)
    assert consumer.said[-1] == "give back 1"
    await consumer.due(wait_s - (HOLD_S - held_s))
    assert consumer.said[-1] == "trickle"  # the next probe comes from the broker
    consumer.send(9)
    await pass_by()
    assert consumer.said[-2:] == ["handle 9", "halt"]
    consumer.breaker.end()
    await ended(task)


async def test_a_message_whose_channel_is_gone_is_no_probe() -> None:
    consumer = Scripted()
    task = await consumer.trip()
    consumer.is_open = False
    await consumer.due(PROBE_FIRST_S)
    assert consumer.said == ["halt", "trickle"]
    assert consumer.settler.stats.stale_deliveries == 1
    consumer.is_open = True
    consumer.send(2)
    await ended(task)
    assert consumer.said[2:] == ["handle 2", "halt", "restore"]


async def test_a_program_that_pauses_the_queue_gets_no_probe_either() -> None:
    consumer = Scripted()
    task = await consumer.trip()
    consumer.is_paused = True
    await consumer.due(PROBE_FIRST_S)
    assert consumer.said == ["halt", "give back 1", "trickle"]
    consumer.is_paused = False
    consumer.send(2)
    await ended(task)
    assert consumer.said[3:] == ["handle 2", "halt", "restore"]


async def test_what_is_acked_already_is_not_handled_again() -> None:
    consumer = Scripted(SAID, keeps=False)
    task = await consumer.trip()
    await ended(await consumer.trip(7))
    await consumer.due(PROBE_FIRST_S)
    assert consumer.said == ["halt", "trickle"]
    consumer.send(2)
    await pass_by()
    await consumer.due(2 * PROBE_FIRST_S)
    assert consumer.said[2:] == ["handle 2", "halt", "trickle"]
    consumer.send(3)
    await ended(task)
    assert not [line for line in consumer.said if line.startswith("give back")]


async def test_the_end_gives_back_what_is_held() -> None:
    consumer = Scripted()
    task = await consumer.trip()
    consumer.breaker.end()
    await consumer.breaker.stop()
    await ended(task)
    assert consumer.said == ["halt", "give back 1", "halt", "restore"]
    assert consumer.settler.stats == Stats(unavailable=1, circuits_opened=1, returned=1)


async def test_the_end_does_not_wait_for_a_probe_that_never_comes() -> None:
    consumer = Scripted(probes=2)
    task = await consumer.trip()
    await consumer.due(PROBE_FIRST_S)
    consumer.breaker.end()
    await consumer.breaker.stop()
    await ended(task)
    assert consumer.said == ["halt", "handle 1", "trickle", "halt", "restore"]


async def test_the_log_says_so_with_the_reason_and_not_at_each_probe(
    caplog: pytest.LogCaptureFixture,
) -> None:
    consumer = Scripted(*[SAID] * 5)
    task = await consumer.trip()
    for number in range(6):
        await consumer.due(PROBE_FIRST_S * 2**number)
        if number == 4:  # half a minute
            lines = [line for line in caplog.messages if "the database is down" in line]
            assert len(lines) == REPORTS_AT_FIRST
    await ended(task)
    assert "q is not consumed, for its handler said Unavailable: the database" in caplog.messages[0]
    assert caplog.messages[-1] == "q is consumed again after 63 s"
