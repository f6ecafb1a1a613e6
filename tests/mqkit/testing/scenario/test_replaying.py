"""A scenario is recorded with an app, and replayed with another run of the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mqkit
from mqkit import Confirmed, Delivery, Rejected, Unknown
from mqkit.errors import ConfigurationError
from mqkit.testing import reference_broker
from mqkit.testing.application import running
from mqkit.testing.in_process.vhost import ReferenceBroker
from mqkit.testing.over_management import BrokerElsewhere, NeedsReferenceBroker, refuse
from mqkit.testing.scenario.file import read
from mqkit.testing.scenario.replaying import Replay, ScenarioDiffers
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

TOPOLOGY = "queues:\n  orders: {retry: {after: [10s, 30s], then: park}}\n"
SHORT_S = 0.01


class Run:
    """One run of an app that handles orders, on a broker of its own."""

    def __init__(self, broker: ReferenceBroker) -> None:
        self.broker = broker
        self.seen: list[tuple[float, int]] = []
        """Seconds since the beginning, and attempt, of each call of the handler."""
        settings = mqkit.Settings.load(reconnect_first_s=0.01, reconnect_max_s=0.02)
        clock = broker.clock
        start = clock.utc_now()
        self.app = mqkit.App(
            topology=loads(TOPOLOGY), settings=settings, clock=clock, drain_timeout=1
        )

        @self.app.consumer("orders")
        async def fail(order: str, delivery: Delivery) -> None:
            self.seen.append(((clock.utc_now() - start).total_seconds(), delivery.attempt))
            raise ConnectionError("the bank does not answer")

    async def publish(self) -> Any:
        return await self.app.publish("", "orders", "7", resend=False)


@asynccontextmanager
async def new_run() -> AsyncIterator[Run]:
    with reference_broker() as broker:
        run = Run(broker)
        async with running(run.app, broker):
            yield run


def scenario(path: Path, text: str) -> None:
    path.write_text(f"format: 1\nsteps: {text}\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outage.yaml"


async def test_the_same_faults_come_at_the_same_moments(path: Path) -> None:
    async with new_run() as first:
        with first.broker.record(path):
            # The second publish is that to the retry tier: it is sent again, and is there twice;
            # the order comes again, too, for its consumer's connection goes with the other.
            first.broker.faults.drop_before_confirm(publish=2)
            assert isinstance(await first.publish(), Confirmed)
            await first.broker.clock.advance("10s")
            assert first.broker.faults.cancel_consumers("orders") == 1
            await first.broker.clock.advance("20s")
            first.broker.faults.drop_connections()
            await first.broker.clock.advance("10s")
    async with new_run() as again:
        start = again.broker.clock.utc_now()
        async with asyncio.TaskGroup() as tasks:
            outcome = tasks.create_task(again.publish())
            await again.broker.replay(path)
        assert (again.broker.clock.utc_now() - start).total_seconds() == 40
        assert isinstance(outcome.result(), Confirmed)
        assert again.app.stats.cancelled_by_broker == 1
    assert again.seen == first.seen
    assert first.seen == [(0.0, 1)] * 2 + [(10.0, 2)] * 3 + [(40.0, 3)] * 3
    steps = read(path)
    assert [(step.at_ms, step.verb) for step in steps] == [
        (0, "drop_before_confirm"),
        (10_000, "advance"),
        (10_000, "cancel_consumers"),
        (30_000, "advance"),
        (30_000, "drop_connections"),
        (40_000, "advance"),
    ]
    assert (steps[0].struck, steps[2].found) == (True, 1)


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        (lambda faults: faults.nack(), Rejected),
        (lambda faults: faults.drop_before_confirm(), Unknown),
        (lambda faults: (faults.block(), faults.unblock()), Confirmed),
        (lambda faults: (faults.fill_disk(), faults.free_disk()), Confirmed),
        (lambda faults: (faults.hold_answers(), faults.release_answers()), Confirmed),
        (lambda faults: (faults.refuse_queue("x"), faults.accept_queue("x")), Confirmed),
        (lambda faults: faults.drop_after_confirm(), Confirmed),
    ],
    ids=["nack", "drop_before", "memory", "disk", "delay", "406", "drop_after"],
)
async def test_every_verb_is_recorded_and_replayed(
    path: Path, faults: Callable[[Any], object], kind: type[object]
) -> None:
    async with new_run() as first:
        with first.broker.record(path):
            faults(first.broker.faults)
            assert isinstance(await first.publish(), kind)
    told: list[str] = []
    async with new_run() as again, asyncio.TaskGroup() as tasks:
        again.broker.faults.told = lambda verb, arguments, _: told.append(verb)
        publishing = tasks.create_task(again.publish())
        await again.broker.replay(path)
        assert isinstance(await publishing, kind)
    assert told == [step.verb for step in read(path)]


async def test_a_step_without_its_consumer_is_named(path: Path) -> None:
    scenario(
        path,
        "[{at: 0s, do: block}, {at: 1s, do: unblock},"
        " {at: 10s, do: cancel_consumers, queue: mails, found: 2}]",
    )
    async with new_run() as run:
        replay = Replay(path, read(path), run.broker.clock, run.broker.faults)
        with pytest.raises(ScenarioDiffers) as raised:
            await replay.run(SHORT_S)
    assert str(raised.value) == (
        f"{path}, step 3 (cancel_consumers queue='mails' at 10s): it would find 0, and found 2 when"
        " recorded"
    )


async def test_a_step_without_a_connection_is_named(path: Path) -> None:
    scenario(path, "[{at: 0s, do: drop_connections, found: 2}]")
    with reference_broker() as broker:
        assert await broker.queue("orders").all() == []  # the test's own connection is none
        replay = Replay(path, read(path), broker.clock, broker.faults)
        with pytest.raises(ScenarioDiffers, match=r"step 1 \(drop_connections at 0ms\): it would"):
            await replay.run(SHORT_S)


async def test_a_fault_that_strikes_nothing_is_named(path: Path) -> None:
    scenario(path, "[{at: 0s, do: nack, publish: 2, struck: true}]")
    with reference_broker() as broker:
        replay = Replay(path, read(path), broker.clock, broker.faults)
        with pytest.raises(ScenarioDiffers, match=r"\(nack publish=2 at 0ms\): nothing was publi"):
            await replay.run(SHORT_S)


async def test_what_is_not_settled_is_named(path: Path) -> None:
    scenario(path, "[{at: 1s, do: advance}]")
    with reference_broker() as broker:
        hanging = asyncio.Event()
        app = mqkit.App(broker.url, loads("queues: {q: {}}"), clock=broker.clock, drain_timeout=0)

        @app.consumer("q")
        async def hang(body: str) -> None:
            hanging.set()
            await asyncio.Event().wait()

        async with running(app, broker):
            await app.publish("", "q", "1")
            await hanging.wait()
            with pytest.raises(ScenarioDiffers, match=r"step 1 \(advance at 1s\): .* of q"):
                await Replay(path, read(path), broker.clock, broker.faults).run(SHORT_S)


async def test_what_handlers_held_then_they_may_hold_again(path: Path) -> None:
    async def play(act: Callable[[ReferenceBroker], Any]) -> None:
        with reference_broker() as broker:
            clock = broker.clock
            app = mqkit.App(broker.url, loads("queues: {q: {}}"), clock=clock, drain_timeout=0)
            hanging, ended = asyncio.Event(), asyncio.Event()

            @app.consumer("q")
            async def hang(body: str) -> None:
                hanging.set()
                await ended.wait()

            async with running(app, broker):
                await app.publish("", "q", "1")
                await hanging.wait()
                await act(broker)
                ended.set()

    async def recorded(broker: ReferenceBroker) -> None:
        with broker.record(path):
            await broker.clock.advance("30s", holding=1)
            broker.faults.block()

    await play(recorded)
    await play(lambda broker: broker.replay(path))


async def test_it_is_written_whatever_ends_it_and_one_at_a_time(path: Path) -> None:
    with reference_broker() as broker:
        with pytest.raises(LookupError), broker.record(path):
            broker.faults.block()
            with (
                pytest.raises(ConfigurationError, match="one at a time"),
                broker.record(path.with_name("another.yaml")),
            ):
                pass
            raise LookupError
        broker.faults.unblock()  # which is not in it
        assert [step.verb for step in read(path)] == ["block"]
        with pytest.raises(ConfigurationError, match="is there already"), broker.record(path):
            pass


async def test_a_broker_elsewhere_has_none(path: Path) -> None:
    broker = BrokerElsewhere("amqp://127.0.0.1/", "http://127.0.0.1:15672", refuse)
    with pytest.raises(NeedsReferenceBroker, match="a recorded scenario"):
        broker.record(path)
    with pytest.raises(NeedsReferenceBroker, match="a recorded scenario"):
        await broker.replay(path)
