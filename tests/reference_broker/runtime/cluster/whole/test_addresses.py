"""The addresses that nodes tell each other: those of their clients, and those of their links."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import httpx
import pika
import pytest

from mqkit.testing import Cluster, Etcd
from mqkit.testing.certificates import Authority
from mqkit.testing.cluster import made_cluster
from reference_broker.runtime.net.address import Address
from reference_broker.testing.severable_proxy import SeverableProxy

pytestmark = [pytest.mark.live, pytest.mark.slow]


END_S = 30


@pytest.fixture
def nodes(etcd_server: Etcd, tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes, of which none is started."""
    made = made_cluster(tmp_path, 2, etcd_server, name=f"told {tmp_path.name} {id(tmp_path)}")
    try:
        yield made
    finally:
        made.kill()


def _member(nodes: Cluster, name: str) -> tuple[str, str]:
    """The addresses of the node's clients, as node a knows them."""
    members = httpx.get(f"{nodes['a'].management_url}/api/cluster/status").json()["members"]
    (row,) = (each for each in members if each["name"] == f"mqkit@{name}")
    return row["amqp"], row["http"]


def test_a_free_port_that_a_node_has_taken_is_told(nodes: Cluster) -> None:
    free = "127.0.0.1:0"
    nodes["a"].start()
    nodes["b"].start("--listen", free, "--http", free)
    nodes.await_ready()
    a = nodes["a"]
    assert _member(nodes, "a") == (f"127.0.0.1:{a.amqp_port}", f"127.0.0.1:{a.management_port}")
    ready = re.search(r"amqp=(\S+) http=(\S+)", nodes["b"].ready_line)
    assert ready is not None
    assert _member(nodes, "b") == ready.groups()
    assert httpx.get(f"http://{ready[2]}/api/overview", auth=("guest", "guest")).is_success


def _states(nodes: Cluster, name: str) -> list[str]:
    members = httpx.get(f"{nodes[name].management_url}/api/cluster/status").json()["members"]
    return [each["state"] for each in members]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(END_S):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0)


def _confirmed(nodes: Cluster, name: str) -> None:
    """Publish at the node to the queue of node b, and get it back."""
    with pika.BlockingConnection(pika.URLParameters(nodes[name].url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("", "q", b"through the proxy", mandatory=True)
        assert channel.basic_get("q", auto_ack=True)[2] == b"through the proxy"


async def _linked_by_what_they_advertise(nodes: Cluster, options: Sequence[str]) -> None:
    behind = {name: Address("127.0.0.1", node.link_port) for name, node in nodes.nodes.items()}
    async with SeverableProxy(behind["a"]) as of_a, SeverableProxy(behind["b"]) as of_b:
        for name, proxy in (("a", of_a), ("b", of_b)):
            there = f"localhost:{proxy.address.port}"
            nodes[name].start("--cluster-advertise", there, *options)
        await asyncio.to_thread(nodes.await_ready)
        for name in nodes.nodes:
            await _until(lambda name=name: _states(nodes, name) == ["running"] * 2)  # type: ignore[misc]
        declared = {"durable": True}
        url = f"{nodes['b'].management_url}/api/queues/%2F/q"
        answer = await asyncio.to_thread(partial(httpx.put, url, json=declared))
        assert answer.status_code == 201
        await asyncio.to_thread(_confirmed, nodes, "a")
        of_b.sever()  # whom node a has dialled, as the lower name does
        await _until(lambda: _states(nodes, "a") == ["running", "unreachable"])
        of_b.heal()
        await _until(lambda: _states(nodes, "a") == ["running", "running"])
        await asyncio.to_thread(_confirmed, nodes, "a")


def test_nodes_are_reached_by_what_they_advertise(nodes: Cluster) -> None:
    asyncio.run(_linked_by_what_they_advertise(nodes, ()))


def test_a_certificate_is_for_the_host_that_is_advertised(nodes: Cluster, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("node", "localhost")
    options = (
        *("--cluster-tls-cert", str(issued.certificate), "--cluster-tls-key", str(issued.key)),
        *("--cluster-tls-ca", str(authority.path)),
    )
    asyncio.run(_linked_by_what_they_advertise(nodes, options))
