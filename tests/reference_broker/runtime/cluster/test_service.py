"""service: nodes over a real etcd and real sockets, in one event loop."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from mqkit.testing import Etcd
from reference_broker.cluster.coordinator import Compare, Put, Won
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.membership.joining import FolderMark
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.core.base.deadlines import Deadline, Deadlines
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.errors import BadConfiguration, ClusterRefused
from reference_broker.runtime.cluster.service import ClusterConfig, ClusterService
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.net.address import Address

pytestmark = [pytest.mark.live, pytest.mark.slow]

TIMEOUT_S = 60


class Process:
    """A broker's process without a broker."""

    def __init__(self, config: ClusterConfig, *, run: int = 1) -> None:
        self.budget = Budget()
        self.work = Portions(self.budget)
        self.marks: list[FolderMark] = []
        self.left_for: list[str] = []
        self._deadlines = Deadlines()
        self.service = ClusterService(config, self, mark=None, run=run, position=0)

    def as_input(self, step: Callable[[], object]) -> None:
        self.budget.refill()
        step()
        self.work.run()

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        loop = asyncio.get_running_loop()
        deadline = self._deadlines.at(round((loop.time() + delay_s) * 1_000), callback)
        loop.call_later(delay_s + 0.02, self._fire)
        return deadline

    def _fire(self) -> None:
        now_ms = round(asyncio.get_running_loop().time() * 1_000)
        self.as_input(partial(self._deadlines.fire, now_ms, self.budget))

    def now_wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        self.marks.append(mark)
        asyncio.get_running_loop().call_soon(self.as_input, marked)

    def left(self, reason: str) -> None:
        self.left_for.append(reason)

    # A client of it

    async def put(self, key: str, value: bytes) -> Answered:
        """Propose ``key``, which must not be there, and wait until every live node has seen it."""
        answered: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        propose = self.service.node.proposals.propose
        compares, changes = (Compare(key, 0),), (Put(key, value),)
        self.as_input(partial(propose, compares, changes, answered.set_result))
        outcome = await answered
        if isinstance(outcome, Won):
            await self._passed(outcome.revision)
        return outcome

    async def _passed(self, revision: int) -> None:
        barrier = self.service.node.barrier
        ticket = barrier.ticket(revision)
        if barrier.passed.value < ticket:
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            barrier.passed.when_at(ticket, partial(reached.set_result, None))
            await reached

    @property
    def revision(self) -> int:
        return self.service.node.view.revision.value

    @property
    def peers(self) -> list[str]:
        """The nodes that are heard of, and waited for."""
        awaited = self.service.node.barrier.awaited
        return sorted(name for name, applied in awaited.items() if applied)


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells it
        await asyncio.sleep(0)


@pytest.fixture
def config(etcd_server: Etcd) -> ClusterConfig:
    return ClusterConfig(
        cluster=f"test {uuid.uuid4().hex}",
        node="a",
        etcd=EtcdConfig(tuple(map(endpoint, etcd_server.endpoints))),
        secret=Secret(b"the secret of a test"),
        listen=Address("127.0.0.1", 0),
    )


@asynccontextmanager
async def _nodes(config: ClusterConfig, names: str) -> AsyncIterator[list[Process]]:
    async with asyncio.timeout(TIMEOUT_S), AsyncExitStack() as stack:
        processes = [Process(replace(config, node=name)) for name in names]
        for process in processes:
            stack.push_async_callback(process.service.stop)
        await asyncio.gather(*(process.service.start() for process in processes))
        for process in processes:
            others = [name for name in names if name != process.service.node.name]
            await _until(lambda process=process, others=others: process.peers == others)  # type: ignore[misc]
        yield processes


def test_three_nodes_are_one_and_every_ok_is_seen_by_all(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "abc") as processes:
            assert len({process.marks[0].cluster_id for process in processes}) == 1
            assert [len(process.service.mesh.links) for process in processes] == [2, 2, 2]
            for number in range(30):
                outcome = await processes[number % 3].put(f"def/parameter/{number}", b"x")
                assert isinstance(outcome, Won)
                assert min(each.revision for each in processes) >= outcome.revision

    asyncio.run(scenario())


def test_of_two_that_declare_one_name_one_wins(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "ab") as (a, b):
            for number in range(20):
                key = f"def/parameter/{number}"
                outcomes = await asyncio.gather(a.put(key, b"a's"), b.put(key, b"b's"))
                assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Lost", "Won"]

    asyncio.run(scenario())


def test_a_node_that_stops_holds_nobody_up(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "abc") as (a, b, c):
            await c.service.stop()
            await c.service.stop()
            await _until(lambda: a.peers == ["b"])
            assert isinstance(await a.put("def/parameter/x", b"x"), Won)
            assert list(b.service.mesh.links) == ["a"]

    asyncio.run(scenario())


def test_a_node_with_another_secret_is_refused(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "a"):
            wrong = Process(replace(config, node="b", secret=Secret(b"another")))
            with pytest.raises(ClusterRefused, match="--cluster-secret-file"):
                await wrong.service.start()
            await wrong.service.stop()
            assert wrong.marks == []

    asyncio.run(scenario())


def test_a_name_that_is_taken_is_refused(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "a") as (first,):
            second = Process(config, run=7)
            with pytest.raises(ClusterRefused, match="'a' is taken"):
                await second.service.start()
            await second.service.stop()
            assert first.left_for == []

    asyncio.run(scenario())


def test_an_address_that_others_reach_wants_tls(config: ClusterConfig) -> None:
    async def scenario() -> None:
        process = Process(replace(config, listen=Address("0.0.0.0", 0)))
        with pytest.raises(BadConfiguration, match="give them TLS"):
            await process.service.start()
        await process.service.stop()

    asyncio.run(scenario())


def test_a_node_waits_for_an_etcd_that_is_not_there_and_can_be_stopped(
    config: ClusterConfig, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        nobody = EtcdConfig((endpoint("http://127.0.0.1:9"),))
        process = Process(replace(config, etcd=nobody))
        starting = asyncio.create_task(process.service.start())
        async with asyncio.timeout(TIMEOUT_S):
            await _until(lambda: "waiting for etcd" in caplog.text)
        await process.service.stop()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    asyncio.run(scenario())
    assert "127.0.0.1:9" in caplog.text
