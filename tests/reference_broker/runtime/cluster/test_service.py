"""service: nodes over a real etcd and real sockets, in one event loop."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from mqkit.testing import Etcd, EtcdUnavailable, etcd
from reference_broker.cluster.coordinator import Won
from reference_broker.cluster.isolation import ETCD_SILENT_S, PATIENCE_S
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.questions.asking import Gathered
from reference_broker.cluster.questions.question import BODY_BYTES_MAX
from reference_broker.errors import BadConfiguration, ClusterRefused
from reference_broker.runtime.cluster.service import ClusterConfig
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.process.boot_clock import boot_clock
from reference_broker.testing.member_process import MemberProcess

pytestmark = [pytest.mark.live, pytest.mark.slow]

TIMEOUT_S = 60


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
async def _nodes(
    config: ClusterConfig, names: str, patience_s: float = PATIENCE_S
) -> AsyncIterator[list[MemberProcess]]:
    async with asyncio.timeout(TIMEOUT_S), AsyncExitStack() as stack:
        processes = [
            MemberProcess(replace(config, node=name), patience_s=patience_s) for name in names
        ]
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


def test_a_node_that_is_left_alone_without_etcd_is_told_and_told_when_it_is_back(
    config: ClusterConfig,
) -> None:
    async def scenario() -> None:
        with etcd() as own:
            there = replace(config, etcd=EtcdConfig(tuple(map(endpoint, own.endpoints))))
            async with _nodes(there, "ab", patience_s=0.5) as (a, b):
                own.pause()
                try:
                    over_s = ETCD_SILENT_S + 1
                    await _until(lambda: boot_clock() - a.service.node.etcd_answered_at > over_s)
                    assert (a.cut_off_for, b.cut_off_for) == ([], []), "they have each other"
                    await b.service.stop()
                    await _until(lambda: a.is_cut_off)
                finally:
                    own.resume()
                await _until(lambda: not a.is_cut_off)
                assert len(a.cut_off_for) == 1

    try:
        asyncio.run(scenario())
    except EtcdUnavailable as why:
        pytest.skip(str(why))


def test_nothing_is_left_of_nodes_that_have_stopped(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "ab") as (a, b):
            await _until(lambda: list(a.service.mesh.last_heard) == ["b"])
            await _until(lambda: list(b.service.mesh.last_heard) == ["a"])
            assert sorted(_threads()) == ["heartbeats"] * 2 + ["lease"] * 2
        assert _threads() == []

    asyncio.run(scenario())


def test_a_node_asks_the_others_and_knows_the_members(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "abc") as (a, b, c):
            body = bytes(BODY_BYTES_MAX)
            for process in (b, c):
                process.service.peers.answer_with(
                    "k", lambda node, arguments, reply: reply({**arguments, "for": node}, body)
                )
            peers = a.service.peers
            assert [(each.node, each.state) for each in peers.members()] == [
                (name, "running") for name in "abc"
            ]
            found: list[Gathered] = []
            peers.ask(peers.others, "k", {"n": 1}, found.append)
            await _until(lambda: bool(found))
            assert {name: each.head for name, each in found[0].answers.items()} == {
                name: {"n": 1, "for": "a"} for name in "bc"
            }
            assert {len(each.body) for each in found[0].answers.values()} == {BODY_BYTES_MAX}
            await c.service.stop()
            await _until(lambda: peers.members()[2].state == "down")
            assert peers.others == ["b"]

    asyncio.run(scenario())


def _threads() -> list[str]:
    """The threads that speak for nodes."""
    names = [each.name for each in threading.enumerate()]
    return [name for name in names if name in ("heartbeats", "lease")]


def test_a_node_with_another_secret_is_refused(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "a"):
            wrong = MemberProcess(replace(config, node="b", secret=Secret(b"another")))
            with pytest.raises(ClusterRefused, match="--cluster-secret-file"):
                await wrong.service.start()
            await wrong.service.stop()
            assert wrong.marks == []

    asyncio.run(scenario())


def test_a_name_that_is_taken_is_refused(config: ClusterConfig) -> None:
    async def scenario() -> None:
        async with _nodes(config, "a") as (first,):
            second = MemberProcess(config, run=7)
            with pytest.raises(ClusterRefused, match="'a' is taken"):
                await second.service.start()
            await second.service.stop()
            assert first.left_for == []

    asyncio.run(scenario())


def test_an_address_that_others_reach_wants_tls(config: ClusterConfig) -> None:
    async def scenario() -> None:
        process = MemberProcess(replace(config, listen=Address("0.0.0.0", 0)))
        with pytest.raises(BadConfiguration, match="give them TLS"):
            await process.service.start()
        await process.service.stop()

    asyncio.run(scenario())


def test_a_node_waits_for_an_etcd_that_is_not_there_and_can_be_stopped(
    config: ClusterConfig, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        nobody = EtcdConfig((endpoint("http://127.0.0.1:9"),))
        process = MemberProcess(replace(config, etcd=nobody))
        starting = asyncio.create_task(process.service.start())
        async with asyncio.timeout(TIMEOUT_S):
            await _until(lambda: "waiting for etcd" in caplog.text)
        await process.service.stop()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    asyncio.run(scenario())
    assert "127.0.0.1:9" in caplog.text
