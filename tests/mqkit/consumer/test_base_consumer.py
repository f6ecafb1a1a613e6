"""The end that both consumers have, step by step, on a channel that writes down what it is told."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mqkit.consumer.base_consumer import BaseConsumer
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer_states import State
from mqkit.consumer.observing.measure import Measure
from mqkit.consumer.pause import Pause
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.stats import Stats
from mqkit.message import Delivery, Properties
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Connection, OnCancel, OnDelivery

pytestmark = pytest.mark.anyio

WORKERS = 2


class Wire:
    """The app, its connection and its one channel; all that is said goes into ``said``."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_open = True
        self.deliver: OnDelivery

    def consuming_connection(self) -> Connection:
        return cast(Connection, self)

    async def open_connection(self, role: str) -> Connection:
        return cast(Connection, self)

    async def declare(self, connection: Connection) -> None: ...

    def current_name(self, queue: str) -> str:
        return queue

    async def channel(self) -> Any:
        return self

    async def qos(self, prefetch_count: int) -> None:
        self.said.append(f"qos {prefetch_count}")

    async def consume(
        self, queue: str, on_delivery: OnDelivery, *, on_cancel: OnCancel, **options: Any
    ) -> str:
        self.deliver = on_delivery
        return "tag"

    async def cancel(self, consumer_tag: str) -> None:
        self.said.append("cancel")

    async def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool) -> None:
        self.said.append(f"nack {delivery_tag}{' requeue' if requeue else ''}")

    async def close(self) -> None:
        self.said.append("close")

    def on_closed(self, callback: Any) -> None: ...


class Worker(BaseConsumer):
    """Begins a message and is busy with it until :attr:`go_on` is set."""

    def __init__(self, wire: Wire) -> None:
        async def nothing_is_published(messages: Any) -> Any:
            raise AssertionError(messages)

        clock = FakeClock()
        settler = Settler(
            QueueRules("q"), nothing_is_published, Stats(), Pause(clock=clock, rng=lambda: 1.0)
        )
        super().__init__(
            "q", settler, wire, options=ConsumeOptions(5), workers=WORKERS, clock=clock
        )
        self._wire = wire
        self.go_on = asyncio.Event()

    @property
    def handler_name(self) -> str:
        return "busy"

    def measure(self, measure: Measure) -> None:
        raise AssertionError("nothing is measured here")

    async def _work(self, place: int) -> None:
        while (arrival := await self._inbox.get()) is not None:
            await self._handle(arrival)
        self._wire.said.append("a worker ends")

    async def attempt(self, arrival: Arrival) -> None:
        raise AssertionError("no circuit opens here")

    async def _handle(self, arrival: Arrival) -> None:
        tag = arrival.delivery.delivery_tag
        self._wire.said.append(f"begin {tag}")
        await self.go_on.wait()
        self._wire.said.append(f"end {tag}")


async def pass_by() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def started(wire: Wire, *tags: int) -> tuple[Worker, asyncio.Task[None]]:
    """A consumer that runs, and has been sent messages with these tags."""
    worker = Worker(wire)
    await worker.subscribe(wire.consuming_connection())
    running = asyncio.create_task(worker.run())
    for tag in tags:
        wire.deliver(Delivery("", "q", b"", Properties(), tag, False))
    await pass_by()
    return worker, running


async def test_each_worker_has_one_message_at_a_time() -> None:
    wire = Wire()
    worker, running = await started(wire, 1, 2, 3)
    assert wire.said == ["qos 5", "begin 1", "begin 2"]
    worker.go_on.set()
    await worker.stop()
    await running


async def test_the_end_takes_nothing_new_gives_back_and_waits_for_what_was_begun() -> None:
    wire = Wire()
    worker, running = await started(wire, 1, 2, 3, 4)
    wire.said.clear()
    stopping = asyncio.create_task(worker.stop())
    await pass_by()
    assert wire.said == ["cancel", "nack 3 requeue", "nack 4 requeue"]
    assert not stopping.done()
    worker.go_on.set()
    async with asyncio.timeout(10):
        await stopping
        await running
    assert sorted(wire.said[3:]) == ["a worker ends", "a worker ends", "end 1", "end 2"]
    assert worker._settler.stats.returned == 2


async def test_closing_the_channel_is_a_step_of_its_own() -> None:
    wire = Wire()
    worker, running = await started(wire)
    async with asyncio.timeout(10):
        await worker.stop()
        await running
    assert "close" not in wire.said
    await worker.close()
    assert wire.said[-1] == "close"


async def test_a_consumer_that_is_broken_off_is_stopped_for_those_who_wait() -> None:
    wire = Wire()
    worker, running = await started(wire, 1)
    stopping = asyncio.create_task(worker.stop())
    await pass_by()
    running.cancel()
    async with asyncio.timeout(10):
        await stopping
    assert "end 1" not in wire.said


async def test_a_pause_gives_back_what_is_not_begun_and_waits_for_nobody() -> None:
    wire = Wire()
    worker, running = await started(wire, 1, 2, 3, 4)
    wire.said.clear()
    async with asyncio.timeout(10):
        await worker.pause()
    assert wire.said == ["cancel", "nack 3 requeue", "nack 4 requeue"]
    async with asyncio.timeout(10):
        await worker.resume()
    wire.deliver(Delivery("", "q", b"", Properties(), 5, False))
    worker.go_on.set()
    await pass_by()
    assert wire.said[3:].count("begin 5") == 1
    async with asyncio.timeout(10):
        await worker.stop()
        await running


async def test_a_drain_that_begins_in_a_pause_still_ends_the_workers() -> None:
    """The pause must not take the end of the inbox for a message."""
    wire = Wire()
    worker, running = await started(wire, 1, 2, 3)
    worker.go_on.set()
    async with asyncio.timeout(10):
        await asyncio.gather(worker.pause(), worker.stop())
        await running
    assert wire.said.count("a worker ends") == WORKERS


class SlowWire(Wire):
    """A channel on which each word takes a turn of the event loop, or more."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cancelled = asyncio.Event()

    async def cancel(self, consumer_tag: str) -> None:
        await self.is_cancelled.wait()
        await super().cancel(consumer_tag)

    async def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool) -> None:
        await asyncio.sleep(0)
        await super().nack(delivery_tag, multiple=multiple, requeue=requeue)


async def test_a_pause_does_not_take_the_end_of_the_inbox_for_a_message() -> None:
    """It gives back a message when the drain, behind it, tells the workers to end."""
    wire = SlowWire()
    worker, running = await started(wire, 1, 2, 3)
    worker.go_on.set()
    await pass_by()
    pausing = asyncio.create_task(worker.pause())
    await pass_by()
    wire.deliver(Delivery("", "q", b"", Properties(), 4, False))
    stopping = asyncio.create_task(worker.stop())
    wire.is_cancelled.set()
    async with asyncio.timeout(10):
        await asyncio.gather(pausing, stopping, running)
    assert wire.said.count("a worker ends") == WORKERS


async def test_a_consumer_that_is_held_does_not_subscribe() -> None:
    wire = Wire()
    worker = Worker(wire)
    worker.hold()
    await worker.subscribe(wire.consuming_connection())
    assert wire.said == []
    await worker.resume()
    assert wire.said == ["qos 5"]


async def test_a_program_that_resumes_does_not_go_before_its_breaker() -> None:
    wire = Wire()
    worker, running = await started(wire)
    await worker.halt()
    await worker.pause()
    wire.said.clear()
    await worker.resume()
    assert worker._subscription.state is State.PAUSED
    probes: asyncio.Queue[Arrival | None] = asyncio.Queue()
    await worker.trickle(probes)
    assert wire.said == ["qos 1"]
    wire.deliver(Delivery("", "q", b"", Properties(), 7, False))
    assert probes.qsize() == 1
    await worker.pause()
    await worker.restore()
    assert worker._subscription.state is State.PAUSED
    await worker.resume()
    assert wire.said == ["qos 1", "cancel", "qos 5"]
    async with asyncio.timeout(10):
        await worker.stop()
        await running
