"""The clock of a test, on a broker in its process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime

import aio_pika
import pika
import pytest

import mqkit
from mqkit import Delivery
from mqkit.testing import reference_broker
from mqkit.testing.application import running
from mqkit.testing.in_process.vhost import ReferenceBroker
from mqkit.testing.virtual_time.clock import VirtualClock
from mqkit.testing.virtual_time.settling import NotSettled
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

TOPOLOGY = """
exchanges:
  later: {type: x-delayed-message, arguments: {x-delayed-type: direct}}
queues:
  work:
    retry: {after: [10s, 30s, 60s, 120s, 300s], park: work.parked}
    bind: [{from: later, key: work}]
  work.parked: {}
  plain: {}
"""


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with reference_broker() as broker:
        yield broker


@pytest.fixture
def clock(broker: ReferenceBroker) -> VirtualClock:
    return broker.clock


class Seen:
    """Times of a clock since the test began."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._start_s = clock, clock.monotonic_s()
        self.times: list[float] = []

    def note(self) -> None:
        self.times.append(round(self._clock.monotonic_s() - self._start_s, 3))


@pytest.fixture
def seen(clock: VirtualClock) -> Seen:
    return Seen(clock)


@pytest.fixture
async def app(broker: ReferenceBroker, clock: VirtualClock) -> AsyncIterator[mqkit.App]:
    """Tests register on it while it runs: a consumer that is added then starts at once."""
    app = mqkit.App(topology=loads(TOPOLOGY), clock=clock)
    async with running(app, broker):
        yield app


async def test_five_tiers(
    app: mqkit.App, broker: ReferenceBroker, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work")
    async def fail(delivery: Delivery) -> None:
        seen.note()
        raise ValueError("no")

    await app.publish("", "work", "x")
    await clock.advance("9s")
    assert seen.times == [0]
    await clock.advance("9m")
    assert seen.times == [0, 10, 40, 100, 220, 520]
    parked = await broker.queue("work.parked").one(within=0)
    assert parked.body == b"x"


async def test_the_time_in_headers_is_the_clocks(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    firsts: list[datetime | None] = []

    @app.consumer("work")
    async def fail(delivery: Delivery) -> None:
        firsts.append(delivery.first_failure)
        raise ValueError("no")

    began = clock.utc_now()
    await app.publish("", "work", "x")
    await clock.advance("10s")
    assert firsts == [None, began]


async def test_a_time_to_live(app: mqkit.App, broker: ReferenceBroker, clock: VirtualClock) -> None:
    await app.publish("", "plain", "x", expiration="2m")
    await clock.advance(119)
    assert await broker.queue("plain").depth() == 1
    await clock.advance("1s")
    assert await broker.queue("plain").depth() == 0


async def test_a_delayed_message(app: mqkit.App, clock: VirtualClock, seen: Seen) -> None:
    @app.consumer("work")
    async def take(body: str) -> None:
        seen.note()

    await app.publish("later", "work", "x", delay="1h")
    await clock.advance("2h")
    assert seen.times == [3600]


async def test_a_handler_that_sleeps_by_the_clock_runs_into_its_timeout(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work", timeout="30s")
    async def hang(body: str) -> None:
        seen.note()
        await clock.sleep("1h")

    await app.publish("", "work", "x")
    await clock.advance("41s")
    assert seen.times == [0, 40]
    assert app.stats.timeouts == 1


async def test_a_handlers_own_timeout_error_is_its_own(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work", timeout="30s")
    async def fail(body: str) -> None:
        seen.note()
        if len(seen.times) == 1:
            raise TimeoutError("the database's")

    await app.publish("", "work", "x")
    await clock.advance("10s")
    assert seen.times == [0, 10]
    assert app.stats.timeouts == 0


async def test_a_handler_that_hangs_is_held_on_purpose(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work", timeout="30s")
    async def hang(body: str) -> None:
        seen.note()
        if len(seen.times) == 1:
            await asyncio.Event().wait()

    await app.publish("", "work", "x")
    await clock.advance("1h", holding=1)
    assert seen.times == [0, 40]
    assert (app.stats.timeouts, app.stats.acked) == (1, 1)


async def test_what_is_still_waited_for_is_told(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work")
    async def hang(delivery: Delivery) -> None:
        seen.note()
        if delivery.attempt > 1:
            await asyncio.Event().wait()
        raise ValueError("no")

    await app.publish("", "work", "x", message_id="order-7")
    with pytest.raises(NotSettled) as told:
        await clock.advance("1h", within="1s")
    assert str(told.value) == (
        "10 s on, and after 1 s of real time, this is still waited for:"
        " a handler of work, at message order-7"
    )
    assert seen.times == [0, 10]


async def test_a_batch_is_waited_for_by_the_clock(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.batch_consumer("plain", size=10, within="5s")
    async def take(batch: mqkit.Batch[str]) -> None:
        seen.note()

    await app.publish("", "plain", "x")
    await clock.advance("4s")
    await app.publish("", "plain", "y")
    await clock.advance("4s")
    assert seen.times == [5]
    assert app.stats.acked == 2


async def test_a_pause_and_those_behind_it_are_waited_for_by_the_clock(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("plain", prefetch=10)
    async def fail_once(body: str) -> None:
        if not seen.times:
            seen.note()
            raise ValueError("no")
        seen.note()

    for _ in range(3):
        await app.publish("", "plain", "x")
    await clock.advance("1m")
    assert len(seen.times) == 4
    assert app.stats.requeued == 1


async def test_a_circuit_is_open_by_the_clock(
    app: mqkit.App, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work")
    async def fail_twice(body: str) -> None:
        seen.note()
        if len(seen.times) < 3:
            raise mqkit.Unavailable("the database is away")

    await app.publish("", "work", "x")
    await clock.advance("5m")
    assert len(seen.times) == 3
    assert (app.stats.circuits_opened, app.stats.circuits_closed, app.stats.acked) == (1, 1, 1)


async def test_a_key_is_held_by_the_clock(app: mqkit.App, clock: VirtualClock, seen: Seen) -> None:
    @app.consumer("work", partition_by=lambda delivery: "one", concurrency=2)
    async def fail_once(body: str) -> None:
        seen.note()
        if len(seen.times) == 1:
            raise ValueError("no")

    await app.publish("", "work", "x")
    await app.publish("", "work", "y")
    await clock.advance("10s")
    assert seen.times == [0, 10, 10]


async def test_a_consumer_that_comes_back_is_waited_for(
    app: mqkit.App, broker: ReferenceBroker, clock: VirtualClock, seen: Seen
) -> None:
    @app.consumer("work")
    async def fail(body: str) -> None:
        seen.note()
        raise ValueError("no")

    await app.publish("", "work", "x")
    await clock.advance("9s")
    broker.faults.drop_connections()
    await clock.advance("31s")
    broker.faults.cancel_consumers("work")
    await clock.advance("1m")
    assert seen.times == [0, 10, 40, 100]


async def test_a_consumer_that_can_not_come_back_is_told_of(
    app: mqkit.App, broker: ReferenceBroker, clock: VirtualClock
) -> None:
    @app.consumer("nowhere")
    async def take(body: str) -> None: ...

    with pytest.raises(NotSettled, match="the consumer of nowhere, which the broker has not got"):
        await clock.advance("1s", within="1s")


async def test_an_app_that_is_gone_keeps_nobody_waiting(
    broker: ReferenceBroker, clock: VirtualClock
) -> None:
    app = mqkit.App(topology=loads(TOPOLOGY), clock=clock, drain_timeout=0)
    begun = asyncio.Event()

    @app.consumer("work")
    async def hang(body: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with running(app, broker):
        await app.publish("", "work", "x")
        await begun.wait()
    await clock.advance("1h")
    assert await broker.queue("work").depth() == 1


async def test_another_client_by_the_clock(
    broker: ReferenceBroker, clock: VirtualClock, seen: Seen
) -> None:
    async with await aio_pika.connect(broker.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("q")
        await channel.declare_queue(
            "wait",
            arguments={
                "x-message-ttl": 60_000,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": "q",
            },
        )

        async def take(message: aio_pika.abc.AbstractIncomingMessage) -> None:
            seen.note()
            try:
                async with clock.timeout(5):
                    await asyncio.Event().wait()
            except TimeoutError:
                await message.ack()

        await queue.consume(take)
        await channel.default_exchange.publish(aio_pika.Message(b"x"), "wait")
        await clock.advance("2m")
        assert seen.times == [60]
        await clock.advance("1ms")


async def test_a_client_that_does_not_settle_is_told_of(
    broker: ReferenceBroker, clock: VirtualClock
) -> None:
    async with await aio_pika.connect(broker.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("q")

        async def ignore(_: object) -> None: ...

        await queue.consume(ignore, consumer_tag="silent")
        sent = aio_pika.Message(b"x", message_id="7")
        await channel.default_exchange.publish(sent, "q")
        with pytest.raises(
            NotSettled, match=r"message 7 of q, which the consumer silent of .* has"
        ):
            await clock.advance("1s", within="1s")
        await clock.advance("1s", holding=1)


async def test_who_took_a_message_by_hand_is_not_waited_for(
    broker: ReferenceBroker, clock: VirtualClock
) -> None:
    async with await aio_pika.connect(broker.url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("q")
        await channel.default_exchange.publish(aio_pika.Message(b"x"), "q")
        taken = await queue.get()
        await clock.advance("1m")
        await taken.ack()


def test_a_thread_by_the_clock(broker: ReferenceBroker, clock: VirtualClock, seen: Seen) -> None:
    def serve() -> None:
        with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
            channel = connection.channel()
            channel.queue_declare("q")
            channel.basic_publish("", "q", b"x")
            for method, _, _ in channel.consume("q"):
                assert method is not None
                consuming.set()
                clock.blocking.sleep("45s")
                seen.note()
                channel.basic_ack(method.delivery_tag)
                break

    consuming = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    consuming.wait(10)
    clock.blocking.advance("1m")
    thread.join(10)
    assert seen.times == [45]


def test_who_knows_no_virtual_time_is_not_cut_off(
    broker: ReferenceBroker, clock: VirtualClock
) -> None:
    parameters = pika.URLParameters(broker.url)
    parameters.heartbeat = 20
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        clock.blocking.advance("1h")
        channel.queue_declare("q")


async def test_in_a_coroutine_it_is_awaited(clock: VirtualClock) -> None:
    with pytest.raises(mqkit.ConfigurationError, match=r"await clock\.advance"):
        clock.blocking.advance("1s")


async def test_one_movement_at_a_time(
    app: mqkit.App, broker: ReferenceBroker, clock: VirtualClock
) -> None:
    begun = asyncio.Event()
    go_on = asyncio.Event()

    @app.consumer("plain")
    async def wait(body: str) -> None:
        begun.set()
        await go_on.wait()

    await app.publish("", "plain", "x")
    await begun.wait()
    first = asyncio.create_task(clock.advance("1s"))
    while not clock.is_moving:  # noqa: ASYNC110 - a thread begins it
        await asyncio.sleep(0)
    with pytest.raises(mqkit.ConfigurationError, match="one advance at a time"):
        await clock.advance("1s")
    go_on.set()
    await first


async def test_at_the_end_nobody_waits_by_it(broker: ReferenceBroker, clock: VirtualClock) -> None:
    sleeping = asyncio.create_task(clock.sleep("1h"))
    await asyncio.sleep(0)
    clock.end()
    clock.end()
    await sleeping
    async with clock.timeout(5), clock.timeout(None):
        await clock.sleep(0)
