"""Order by key, step by step: on a channel and a publisher that write down what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.handler import MessageHandler
from mqkit.consumer.hooks import Fate, Hooks
from mqkit.consumer.partitions.partitioned_consumer import PartitionedConsumer
from mqkit.consumer.pause import Pause
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Settler
from mqkit.consumer.stats import Stats
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome
from mqkit.retry import Park, RetryPolicy, Then, Unavailable
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Connection, OnCancel, OnDelivery

pytestmark = pytest.mark.anyio

TIMEOUT_MS = 400_000
"""A quarter of it is a hundred seconds."""
PREFETCH = 8
POLICY = RetryPolicy.of("10s", "60s")


class Wire:
    """The app, its connection, its channel and its publisher; the handler, too."""

    def __init__(self, policy: RetryPolicy | None = POLICY, hooks: Hooks | None = None) -> None:
        self.said: list[str] = []
        self.is_open = True
        self.deliver: OnDelivery
        self.clock = FakeClock()
        self.problems: dict[str, Exception] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.attempts: list[int] = []
        self.stats = Stats()
        rules = QueueRules("q", policy, arguments={"x-consumer-timeout": TIMEOUT_MS})
        settler = Settler(
            rules,
            self.publish_many,
            self.stats,
            Pause(clock=self.clock, rng=lambda: 1.0),
            hooks=hooks,
            clock=self.clock,
        )
        self.consumer = PartitionedConsumer(
            "q",
            MessageHandler(self.handle),
            settler,
            self,
            options=ConsumeOptions(PREFETCH),
            concurrency=2,
            key_of=lambda delivery: delivery.properties.type,
            clock=self.clock,
        )

    async def handle(self, delivery: Delivery) -> None:
        name = str(delivery.message_id)
        self.said.append(f"begin {name}")
        self.attempts.append(delivery.attempt)
        if name in self.gates:
            await self.gates[name].wait()
        if name in self.problems:
            raise self.problems[name]

    def send(self, *names: str) -> None:
        """Messages by name; the first letter is the key, and ``-`` is none."""
        for name in names:
            key = None if name[0] == "-" else name[0]
            properties = Properties(message_id=name, type=key)
            self.deliver(Delivery("x", "rk", b"", properties, int(name[1:]), False))

    async def passed(self, wait_s: float) -> None:
        await self.clock.until_waiting(1)
        self.clock.advance(wait_s)
        await pass_by()

    async def publish_many(self, messages: Sequence[Message]) -> list[Outcome]:
        self.said += [f"publish {m.properties.message_id} to {m.routing_key}" for m in messages]
        return [Confirmed() for _ in messages]

    # -- the seam --

    def consuming_connection(self) -> Connection:
        return cast(Connection, self)

    async def open_connection(self, role: str) -> Connection:
        raise AssertionError(role)

    async def declare(self, connection: Connection) -> None: ...

    def current_name(self, queue: str) -> str:
        return queue

    async def channel(self) -> Any:
        return self

    async def qos(self, prefetch_count: int) -> None: ...

    async def consume(
        self, queue: str, on_delivery: OnDelivery, *, on_cancel: OnCancel, **options: Any
    ) -> str:
        self.deliver = on_delivery
        return "tag"

    async def cancel(self, consumer_tag: str) -> None: ...

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self.said.append(f"ack {delivery_tag}")

    async def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool) -> None:
        self.said.append(f"give back {delivery_tag}")

    async def close(self) -> None: ...

    def on_closed(self, callback: Any) -> None: ...


async def pass_by() -> None:
    for _ in range(60):
        await asyncio.sleep(0)


@asynccontextmanager
async def running(wire: Wire, *names: str) -> AsyncIterator[None]:
    running = asyncio.create_task(wire.consumer.run())
    await wire.consumer.subscribe(wire.consuming_connection())
    wire.send(*names)
    await pass_by()
    try:
        yield
    finally:
        async with asyncio.timeout(10):
            await wire.consumer.stop()
            await running


async def test_messages_of_one_key_come_one_at_a_time_and_others_beside_them() -> None:
    wire = Wire()
    wire.gates["a1"] = asyncio.Event()
    async with running(wire, "a1", "a2", "b3", "b4", "-5", "-6"):
        assert wire.said == [
            *("begin a1", "begin b3", "ack 3", "begin -5", "ack 5"),
            *("begin -6", "ack 6", "begin b4", "ack 4"),
        ]
        wire.gates["a1"].set()
        await pass_by()
    assert wire.said[9:] == ["ack 1", "begin a2", "ack 2"]
    assert wire.stats == Stats(delivered=6, acked=6)


async def test_a_retry_waits_here_and_holds_back_its_key_only() -> None:
    wire = Wire()
    wire.problems["a1"] = ValueError("not yet")
    async with running(wire, "a1", "a2", "b3"):
        assert wire.said == ["begin a1", "begin b3", "ack 3"]
        await wire.passed(9.9)
        assert wire.said == ["begin a1", "begin b3", "ack 3"]
        await wire.passed(0.1)
        assert wire.said[3:] == ["begin a1"]
        del wire.problems["a1"]
        await wire.passed(60)
    assert wire.said[4:] == ["begin a1", "ack 1", "begin a2", "ack 2"]
    assert wire.attempts == [1, 1, 2, 3, 1]
    assert wire.stats == Stats(delivered=3, acked=3, held=2)


async def test_the_last_attempt_parks_the_message_and_its_key_goes_on() -> None:
    wire = Wire(RetryPolicy.of("10s"))
    wire.problems["a1"] = ValueError("never")
    async with running(wire, "a1", "a2"):
        await wire.passed(10)
    assert wire.said[1:] == ["begin a1", "publish a1 to q.parked", "ack 1", "begin a2", "ack 2"]
    assert wire.stats == Stats(delivered=2, acked=1, parked=1, held=1)


async def test_what_would_wait_for_too_long_parks_its_key_in_order() -> None:
    wire = Wire(RetryPolicy.of("10s", "100s"))
    wire.problems["a1"] = ValueError("not yet")
    async with running(wire, "a1", "a2", "a3", "b4"):
        await wire.passed(10)
        wire.send("a5")
        await pass_by()
    assert wire.said[3:] == [
        "begin a1",
        *("publish a1 to q.parked", "ack 1", "publish a2 to q.parked", "ack 2"),
        *("publish a3 to q.parked", "ack 3", "begin a5", "ack 5"),
    ]
    assert wire.stats.keys_given_up == 1
    assert wire.stats.parked == 3


async def test_too_many_behind_one_that_waits_park_its_key() -> None:
    wire = Wire()
    wire.problems["a1"] = ValueError("not yet")
    async with running(wire, "a1", "a2", "a3", "a4", "a5"):
        assert wire.said == ["begin a1"]  # half of the prefetch stands behind it
        wire.send("a6", "b7")
        await pass_by()
        parked = [line for line in wire.said if line.startswith("publish")]
        assert parked == [f"publish a{n} to q.parked" for n in range(1, 7)]
        wire.send("a8")
        await pass_by()
        assert "ack 8" in wire.said
        await wire.passed(100)  # nobody waits for its retry any more
    assert wire.said.count("begin a1") == 1


@pytest.mark.parametrize("policy", [None, RetryPolicy.of("150s", then=Then.DROP)])
async def test_without_a_parking_lot_what_stands_behind_goes_back(
    policy: RetryPolicy | None,
) -> None:
    wire = Wire(policy)
    wire.problems["a1"] = ValueError("no")
    async with running(wire, "a1", "a2"):
        if policy is None:
            for wait_s in (1, 2, 4, 8, 16, 30, 30):
                assert "give back 2" not in wire.said
                await wire.passed(wait_s)
    assert wire.said[-2:] == ["ack 1" if policy else "give back 1", "give back 2"]
    assert wire.stats.dropped == (1 if policy else 0)


async def test_a_pause_gives_back_all_but_what_runs_and_what_waits_later() -> None:
    wire = Wire()
    wire.problems["a1"] = ValueError("not yet")
    wire.gates["b3"] = asyncio.Event()
    async with running(wire, "a1", "a2", "b3", "b4"):
        await wire.consumer.pause()
        assert wire.said == ["begin a1", "begin b3", "give back 2", "give back 4"]
        wire.gates["b3"].set()
        await wire.passed(10)
        assert wire.said[4:] == ["ack 3", "give back 1"]
        await wire.consumer.resume()
        wire.problems.clear()
        wire.send("a1", "a2")
        await pass_by()
    assert wire.said[6:] == ["begin a1", "ack 1", "begin a2", "ack 2"]


async def test_the_end_gives_back_what_waits() -> None:
    wire = Wire()
    wire.problems["a1"] = ValueError("not yet")
    async with running(wire, "a1", "a2"):
        pass
    assert sorted(wire.said[1:]) == ["give back 1", "give back 2"]
    assert wire.clock.waiting == 0


async def test_an_outage_keeps_the_order_and_uses_up_no_attempt() -> None:
    wire = Wire()
    wire.problems["a1"] = Unavailable("the database is down")
    async with running(wire, "a1", "a2"):
        assert wire.said == ["begin a1", "give back 2"]
        wire.problems.clear()
        await wire.passed(60)
        assert wire.said[2:4] == ["begin a1", "ack 1"]
        wire.send("a2", "a3")
        await pass_by()
    assert wire.said[4:] == ["begin a2", "ack 2", "begin a3", "ack 3"]
    assert set(wire.attempts) == {1}


async def test_a_hook_is_told_and_one_that_raises_uses_up_no_attempt() -> None:
    told: list[str] = []
    hooks = Hooks("q")

    async def on_retry(delivery: Delivery, error: BaseException) -> None:
        told.append(str(error))
        if len(told) == 1:
            raise OSError("the table is locked")

    hooks.set(Fate.RETRY, on_retry)
    wire = Wire(hooks=hooks)
    wire.problems["a1"] = ValueError("no")
    async with running(wire, "a1"):
        await wire.passed(10)
        await wire.passed(10)
    assert told[:2] == ["no", "no"]
    assert wire.attempts == [1, 1, 2]


async def test_an_error_of_the_function_for_keys_is_as_the_handlers() -> None:
    wire = Wire()

    def no_key(delivery: Delivery) -> Any:
        if delivery.message_id == "-1":
            return ["a list can't be hashed"]
        raise KeyError("customer")

    wire.consumer._key_of = cast(Callable[[Delivery], Any], no_key)
    async with running(wire, "-1", "-2"):
        pass
    tier = "publish {} to q.retry.10s"
    assert wire.said == [tier.format("-1"), "ack 1", tier.format("-2"), "ack 2"]


async def test_a_message_whose_channel_is_gone_makes_room_for_the_next() -> None:
    wire = Wire()
    wire.gates["a1"] = asyncio.Event()
    async with running(wire, "a1", "a2"):
        wire.is_open = False
        wire.gates["a1"].set()
        await pass_by()
    assert "begin a2" not in wire.said
    assert wire.stats.stale_deliveries == 1


async def test_parking_by_the_handler_holds_nobody_back() -> None:
    wire = Wire()
    wire.problems["a1"] = Park("bad")
    async with running(wire, "a1", "a2"):
        pass
    assert wire.said[-2:] == ["begin a2", "ack 2"]
