"""Rounds over everything that is there."""

from __future__ import annotations

import asyncio

import pytest

from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.http import Node
from reference_broker.http.rows import sampler
from reference_broker.http.rows.sampler import NODE, Sampler
from reference_broker.http.rows.series import STEP_MS
from reference_broker.store import Log
from reference_broker.testing.homes.scripted_home import ScriptedHome

pytestmark = pytest.mark.anyio


class Hours:
    """A host whose clock the test moves."""

    def __init__(self) -> None:
        self.broker = Broker(Log(), UserStore())
        self.wall_ms = 1_700_000_000_000

    def now(self) -> tuple[float, int]:
        return self.wall_ms / 1000, self.wall_ms

    def input_handled(self) -> None:
        """Nobody flushes."""

    def node(self) -> Node:
        return Node("test", 0, None, 0, ())


async def pass_a_round(host: Hours, sampler: Sampler) -> None:
    host.wall_ms += STEP_MS
    await sampler.round()


async def test_everything_has_a_series_until_it_is_gone() -> None:
    host = Hours()
    vhost = host.broker.vhosts["/"]
    queue = vhost.declare_queue("q")
    sampler = Sampler(host)
    await pass_a_round(host, sampler)
    for subject in (host.broker, vhost, queue, vhost.exchanges["amq.topic"], NODE):
        assert sampler.series_of(subject) is not None
    vhost.delete_queue("q")
    await pass_a_round(host, sampler)
    assert sampler.series_of(queue) is None
    sampler.forget()
    assert sampler.series_of(vhost) is None


async def test_rates_of_a_queue_and_of_the_whole() -> None:
    host = Hours()
    queue = host.broker.vhosts["/"].declare_queue("q")
    sampler = Sampler(host)
    await pass_a_round(host, sampler)
    queue.published += 50
    await pass_a_round(host, sampler)
    series = sampler.series_of(queue)
    assert series is not None
    assert series.rate(3) == 10.0
    await pass_a_round(host, sampler)
    assert series.rate(3) == 0.0


async def test_twice_in_five_seconds_is_once() -> None:
    host = Hours()
    sampler = Sampler(host)
    await pass_a_round(host, sampler)
    series = sampler.series_of(host.broker)
    assert series is not None
    before = series.last_ms
    await sampler.round()
    host.wall_ms -= STEP_MS  # a clock that was set back
    await sampler.round()
    assert series.last_ms == before


async def test_too_many_have_a_rate_and_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "HISTORIES_MAX", 12)
    host = Hours()
    vhost = host.broker.vhosts["/"]
    queues = [vhost.declare_queue(f"q{number}") for number in range(10)]
    sampling = Sampler(host)
    for number in range(6):
        for queue in queues:
            queue.published = number * 5
        await pass_a_round(host, sampling)
    first, last = sampling.series_of(queues[0]), sampling.series_of(queues[-1])
    assert first is not None
    assert last is not None
    assert first.rate(3) == last.rate(3) == 1.0
    back = first.last_ms - 4 * STEP_MS
    assert first.at(3, back) == 5
    assert last.at(3, back) > 5  # the oldest that is known


async def test_a_round_over_many_lets_others_have_their_turn() -> None:
    host = Hours()
    for number in range(4 * sampler.SLICE_OBJECTS):
        host.broker.vhosts["/"].declare_queue(f"q{number}")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await pass_a_round(host, Sampler(host))
    task.cancel()
    assert turns >= 4


async def test_a_queue_of_another_node_has_no_series() -> None:
    host = Hours()
    vhost = host.broker.vhosts["/"]
    vhost.enter_queue(QueueDefinition(7, "elsewhere", False, {}), ScriptedHome())
    here = vhost.declare_queue("here")
    sampler = Sampler(host)
    await pass_a_round(host, sampler)
    assert sampler.series_of(here) is not None
    assert sampler.series_of(vhost.queues["elsewhere"]) is None
