"""The addresses that nodes tell each other: those of their clients, and those of their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mqkit.testing import Cluster, Etcd
from mqkit.testing.cluster import made_cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]


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
