"""Three nodes under load, and an etcd of three members: its leader is killed, it is away for
``MQKIT_ETCD_AWAY_S`` seconds (60 are promised; what is refused takes 30), and one node is cut off
from it alone: it is told by the others, or, where they do not have it any more, by an etcd in which
what it has missed is compacted."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiormq
import httpx
import pika
import pytest
from aiormq import spec
from aiormq.abc import AbstractChannel, AbstractConnection, DeliveredMessage

from mqkit.testing import Cluster, ClusterUnavailable, cluster
from mqkit.testing.cluster_node import ClusterNode
from reference_broker.cluster.metadata.event_history import BYTES_MAX
from reference_broker.runtime.net.address import Address
from reference_broker.testing.etcd_rows import EtcdRows
from reference_broker.testing.severable_proxy import SeverableProxy

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(300)]

AWAY_S = float(os.environ.get("MQKIT_ETCD_AWAY_S", "31"))
TIMEOUT_S = 60
STORED = spec.Basic.Properties(delivery_mode=2)
LARGE = 512 * 1024
"""Octets of a row of which nodes keep the event, and nothing else."""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=3, etcd_members=3) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


class Load:
    """A client that publishes on one node to a queue of a second, one by one, and a consumer of it
    on a third: whatever fails ends it."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.confirmed = 0
        self.longest_s = 0.0
        """The longest wait for a confirm."""
        self.acked: list[int] = []
        self.task: asyncio.Task[None] | None = None
        self._ends = False

    def begin(self, publisher: AbstractChannel, consumer: AbstractChannel) -> asyncio.Task[None]:
        """Work in a task of its own."""
        self.task = asyncio.create_task(self._run(publisher, consumer))
        return self.task

    async def _run(self, publisher: AbstractChannel, consumer: AbstractChannel) -> None:
        """Publish until :meth:`end`, and return when all is acked. Raises what failed."""
        acked = asyncio.Event()

        async def consume(message: DeliveredMessage) -> None:
            assert not message.redelivered
            assert message.delivery_tag is not None
            await consumer.basic_ack(message.delivery_tag)
            self.acked.append(int(message.body))
            acked.set()

        await consumer.basic_consume(self.queue, consume)
        while not self._ends:
            began = time.monotonic()
            confirm = await publisher.basic_publish(
                b"%d" % self.confirmed, routing_key=self.queue, mandatory=True, properties=STORED
            )
            assert isinstance(confirm, spec.Basic.Ack), confirm
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.confirmed += 1
        while len(self.acked) < self.confirmed:
            acked.clear()
            await acked.wait()
        assert self.acked == list(range(self.confirmed))

    def end(self) -> None:
        self._ends = True


@asynccontextmanager
async def _connection(node: ClusterNode) -> AsyncIterator[AbstractConnection]:
    connection = await aiormq.connect(node.url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _load(nodes: Cluster) -> AsyncIterator[list[Load]]:
    """Three loads, each of which works with all nodes; they have all that was confirmed at the end
    of the block, in order and once, and no channel was closed."""
    loads = [Load(f"of {name}") for name in nodes.nodes]
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(_connection(node)) for node in nodes.nodes.values()
        ]
        running = []
        for number, load in enumerate(loads):
            home, publisher, consumer = [
                await opened[(number + each) % 3].channel(publisher_confirms=each == 1)
                for each in range(3)
            ]
            await home.queue_declare(load.queue, durable=True)
            running.append(load.begin(publisher, consumer))
        try:
            yield loads
            assert not any(task.done() for task in running)
        finally:
            for load in loads:
                load.end()
            async with asyncio.timeout(TIMEOUT_S):
                await asyncio.gather(*running)
        deleting = await opened[0].channel()
        for load in loads:
            deleted = await deleting.queue_delete(load.queue)
            assert deleted.message_count == 0


async def _declare(node: ClusterNode, queue: str) -> float:
    """Declare a queue that is not there, and delete it; the seconds that both have taken."""
    began = time.monotonic()
    async with _connection(node) as connection:
        channel = await connection.channel()
        await channel.queue_declare(queue, durable=True)
        await channel.queue_delete(queue)
    return time.monotonic() - began


def _is_refused(url: str) -> None:
    """A declaration is answered with 541, and with the name of what is not there."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker, match=r"541.*etcd"):
        channel.queue_declare("needs etcd", durable=True)


def _told(loads: list[Load]) -> str:
    confirmed = sum(load.confirmed for load in loads)
    longest = max(load.longest_s for load in loads)
    return f"{confirmed} confirmed and acked, 0 failed, longest wait for a confirm {longest:.2f} s"


def test_no_client_notices_that_the_leader_of_etcd_is_killed(nodes: Cluster) -> None:
    async def scenario() -> None:
        async with _load(nodes) as loads:
            leader = await asyncio.to_thread(nodes.etcd.leader)
            before = [load.confirmed for load in loads]
            nodes.etcd.kill(leader)
            took = [
                await _declare(node, f"without a leader {number}")
                for number in range(5)
                for node in nodes.nodes.values()
            ]
            await asyncio.to_thread(nodes.etcd.start, leader)
            assert all(now.confirmed > then for now, then in zip(loads, before, strict=True))
        print(f"etcd's leader killed: {_told(loads)}; longest declaration {max(took):.2f} s")

    asyncio.run(scenario())


def test_while_etcd_is_away_messages_go_on_and_declarations_are_refused_with_the_reason(
    nodes: Cluster,
) -> None:
    async def scenario() -> None:
        async with _load(nodes) as loads:
            before = [load.confirmed for load in loads]
            # Most of its members are gone, and the last one answers nobody.
            nodes.etcd.pause(0)
            nodes.etcd.kill(1, 2)
            began = time.monotonic()
            await asyncio.gather(
                *(asyncio.to_thread(_is_refused, node.url) for node in nodes.nodes.values())
            )
            working = [load.task for load in loads if load.task is not None]
            left_s = max(0.0, began + AWAY_S - time.monotonic())
            failed, _ = await asyncio.wait(working, timeout=left_s)
            assert not failed
            assert all(now.confirmed > then for now, then in zip(loads, before, strict=True))
            nodes.etcd.resume(0)
            began = time.monotonic()
            await asyncio.to_thread(nodes.etcd.start)
            there_s = time.monotonic() - began
            await asyncio.gather(
                *(_declare(node, f"again {node.name}") for node in nodes.nodes.values())
            )
            works_s = time.monotonic() - began
            # Who was refused after 30 s was told of etcd, which may have had it when it was paused.
            async with _connection(nodes["a"]) as connection:
                await (await connection.channel()).queue_delete("needs etcd")
        print(
            f"etcd away for {AWAY_S:.0f} s: {_told(loads)}; it was there {there_s:.1f} s after its "
            f"start, and declared on all nodes after {works_s:.1f} s"
        )

    asyncio.run(scenario())


def _definitions(node: ClusterNode) -> dict[str, object]:
    """All that a node has, in one order."""
    answer = httpx.get(f"{node.management_url}/api/definitions").raise_for_status().json()
    return {kind: sorted(map(str, rows)) for kind, rows in answer.items() if isinstance(rows, list)}


def _revision(node: ClusterNode) -> int:
    answer = httpx.get(f"{node.management_url}/api/cluster/status").raise_for_status()
    revision: int = answer.json()["revision"]
    return revision


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not await asyncio.to_thread(holds):
            pass


async def _each(
    node: ClusterNode,
    names: Iterable[str],
    act: Callable[[AbstractChannel, str], Awaitable[object]],
) -> None:
    """Do something on a node for each name at once, on a channel of its own."""
    async with _connection(node) as connection:
        channels = [await connection.channel() for _ in names]
        await asyncio.gather(*map(act, channels, names))


def _queue(most: int) -> Callable[[AbstractChannel, str], Awaitable[object]]:
    return lambda channel, name: channel.queue_declare(
        name, durable=True, arguments={"x-max-length": most}
    )


@asynccontextmanager
async def _c_behind_a_proxy(nodes: Cluster) -> AsyncIterator[SeverableProxy]:
    """The one way of ``c`` to etcd, in the block."""
    nodes.stop("c")
    async with SeverableProxy(Address.parse(nodes.etcd.endpoints[0][7:])) as proxy:
        nodes["c"].start("--etcd", f"http://{proxy.address}")
        try:
            await asyncio.to_thread(nodes.await_ready, "c")
            yield proxy
        finally:
            proxy.heal()
            await asyncio.to_thread(nodes.stop, "c")
    nodes.start("c")


async def _routes(node: ClusterNode, exchange: str, key: str) -> None:
    """Publish on the node what has to go to a queue."""
    async with _connection(node) as connection:
        channel = await connection.channel(publisher_confirms=True)
        confirm = await channel.basic_publish(
            b"by the binding", exchange=exchange, routing_key=key, mandatory=True
        )
        assert isinstance(confirm, spec.Basic.Ack), confirm


async def _bind(node: ClusterNode, number: int) -> float:
    """Declare an exchange and a queue, and bind them; the seconds that this has taken."""
    began = time.monotonic()
    async with _connection(node) as connection:
        channel = await connection.channel()
        await channel.exchange_declare(f"x {number}", durable=True)
        await channel.queue_declare(f"q {number}", durable=True)
        await channel.queue_bind(f"q {number}", f"x {number}", "key")
    return time.monotonic() - began


def test_a_node_that_is_cut_off_from_etcd_alone_routes_by_what_is_agreed(nodes: Cluster) -> None:
    async def scenario(proxy: SeverableProxy) -> None:
        a, _, c = nodes.nodes.values()
        proxy.sever()
        took: list[float] = []
        async with asyncio.timeout(TIMEOUT_S):
            refused = asyncio.create_task(asyncio.to_thread(_is_refused, c.url))
            # At first the watch of c is silent, and then c knows that it is dead.
            while not refused.done() or not took:
                number = len(took)
                took.append(await _bind(a, number))
                await _routes(c, f"x {number}", "key")
                await asyncio.wait([refused], timeout=1)
            await refused
        async with _connection(a) as connection:
            channel = await connection.channel()
            for number in range(len(took)):
                deleted = await channel.queue_delete(f"q {number}")
                assert deleted.message_count == 1
                await channel.exchange_delete(f"x {number}")
        proxy.reset()
        proxy.heal()
        await _until(lambda: _definitions(a) == _definitions(c))
        async with asyncio.timeout(TIMEOUT_S):
            await _declare(c, "there again")
        # What was refused was in doubt: it had gone to etcd, as far as c knew.
        async with _connection(a) as connection:
            await (await connection.channel()).queue_delete("needs etcd")
        print(
            f"a node cut off from etcd alone: {len(took)} times three methods on another node, "
            f"{max(took):.2f} s at most, {min(took):.2f} s at least; it routed by all of them"
        )

    async def with_proxy() -> None:
        async with _c_behind_a_proxy(nodes) as proxy:
            await scenario(proxy)

    asyncio.run(with_proxy())


def _push_out(nodes: Cluster, rows: EtcdRows) -> None:
    """Have all nodes but ``c`` told so much that they do not keep what they were told before."""
    for number in range(BYTES_MAX // LARGE + 1):
        reached = rows.put(f"unknown/{number}", bytes(LARGE))
    while min(_revision(nodes["a"]), _revision(nodes["b"])) < reached:
        pass


def test_what_a_node_missed_that_was_cut_off_from_etcd_and_is_compacted_is_made_up_for(
    nodes: Cluster,
) -> None:
    rows = EtcdRows(nodes.etcd.endpoints[0], nodes.name)
    stay, go, come = ([f"{what} {number}" for number in range(10)] for what in ("st", "go", "co"))

    async def scenario(proxy: SeverableProxy) -> None:
        a, b, c = nodes.nodes.values()
        await _each(a, [*stay, *go], _queue(1))
        before = await asyncio.to_thread(rows.definitions)

        proxy.sever()
        known = await asyncio.to_thread(_revision, c)
        # It is not there to ask the others, until they do not have it any more.
        nodes.pause("c")
        await asyncio.to_thread(_push_out, nodes, rows)
        nodes.resume("c")
        # Nobody is told -ok before c has seen it, whose links are well: so nobody is waited for.
        asked = [
            asyncio.create_task(_each(a, go, lambda it, name: it.queue_delete(name))),
            asyncio.create_task(_each(b, come, _queue(1))),
        ]
        await _until(lambda: len(rows.definitions() ^ before) == 20)
        # And what is gone is there again, as another one.
        asked.append(asyncio.create_task(_each(b, go[:5], _queue(2))))
        await _until(lambda: len(rows.definitions() ^ before) == 15)
        compacted = await asyncio.to_thread(rows.compact)
        assert await asyncio.to_thread(_revision, c) == known < compacted

        assert not any(each.done() for each in asked)

        said = len(c.errors())
        began = time.monotonic()
        proxy.reset()
        proxy.heal()
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*asked)
        print(f"compacted behind a cut: seen by all {time.monotonic() - began:.1f} s after it")
        assert "was compacted" in c.errors()[said:]
        found = await asyncio.gather(*(asyncio.to_thread(_definitions, node) for node in (a, b, c)))
        assert found[0] == found[1] == found[2]
        queues = {str(each["name"]): each for each in _queues(c)}
        assert queues.keys() == {*stay, *go[:5], *come}
        assert {name: queue["arguments"]["x-max-length"] for name, queue in queues.items()} == {
            **dict.fromkeys([*stay, *come], 1),
            **dict.fromkeys(go[:5], 2),
        }
        assert len([key for key in rows.definitions() if key.startswith("def/queue/")]) == 25
        await _each(c, queues, lambda it, name: it.queue_delete(name))

    async def with_proxy() -> None:
        async with _c_behind_a_proxy(nodes) as proxy:
            await scenario(proxy)

    asyncio.run(with_proxy())


def _queues(node: ClusterNode) -> list[dict[str, Any]]:
    answer = httpx.get(f"{node.management_url}/api/definitions").raise_for_status()
    queues: list[dict[str, Any]] = answer.json()["queues"]
    return queues
