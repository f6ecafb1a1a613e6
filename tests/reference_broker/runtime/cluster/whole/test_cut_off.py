"""A node that reaches neither etcd nor a majority lets its clients go, and has them again when
either is back: three processes of brokers over one etcd, which are stopped and killed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pika
import pytest
from pika.exceptions import AMQPConnectionError, ConnectionClosedByBroker

from mqkit.testing import Cluster
from mqkit_cli.ctl.node import members_lines
from reference_broker.cluster.isolation import PATIENCE_S

pytestmark = [pytest.mark.live, pytest.mark.slow]

SOME_S = 15.0
"""Seconds more than the patience, on a machine that is busy: links that stand still are noticed
after 5 s, and clients have 3 s to answer."""

GUEST = ("guest", "guest")


@pytest.fixture
def lone(nodes: Cluster) -> Iterator[pika.BlockingConnection]:
    """A client of the node that will be alone; it has an exclusive queue."""
    connection = _connect(nodes)
    connection.channel().queue_declare("its own", exclusive=True)
    try:
        yield connection
    finally:
        nodes.etcd.resume()
        nodes.resume()
        nodes.start()
        if connection.is_open:
            connection.close()


def _connect(nodes: Cluster) -> pika.BlockingConnection:
    parameters = pika.URLParameters(nodes["a"].url)
    parameters.heartbeat = 0
    return pika.BlockingConnection(parameters)


def _closed_after(connection: pika.BlockingConnection) -> tuple[float, ConnectionClosedByBroker]:
    """The seconds until the broker has closed the connection, and how it did."""
    began = time.monotonic()
    with pytest.raises(ConnectionClosedByBroker) as closed:
        while time.monotonic() - began < PATIENCE_S + SOME_S:
            connection.process_data_events(0.1)
    return time.monotonic() - began, closed.value


def _accepts(nodes: Cluster) -> bool:
    try:
        _connect(nodes).close()
    except AMQPConnectionError:
        return False
    return True


def _accepts_within(seconds: float, nodes: Cluster) -> bool:
    """True if the node accepts clients by then. It is asked over one connection: a port of each
    that is tried may be the one at which another node comes back."""
    deadline = time.monotonic() + seconds
    url = f"{nodes['a'].management_url}/api/nodes/mqkit@a"
    with httpx.Client(auth=GUEST) as client:
        while not client.get(url).json()["running"]:
            if time.monotonic() > deadline:
                return False
    return _accepts(nodes)


def _status(nodes: Cluster, path: str) -> int:
    return httpx.get(f"{nodes['a'].management_url}/api/{path}", auth=GUEST).status_code


def _is_well(nodes: Cluster) -> list[bool]:
    paths = (
        "healthchecks/node",
        "health/checks/protocol-listener/amqp",
        f"health/checks/port-listener/{nodes['a'].amqp_port}",
    )
    return [_status(nodes, path) == 200 for path in paths]


def _runs(nodes: Cluster) -> bool:
    url = f"{nodes['a'].management_url}/api/nodes/mqkit@a"
    running: bool = httpx.get(url, auth=GUEST).json()["running"]
    return running


def _itself(nodes: Cluster) -> tuple[str, bool, str]:
    """The state of node a, as it tells of itself."""
    members = httpx.get(f"{nodes['a'].management_url}/api/cluster/status").json()["members"]
    (row,) = (each for each in members if each["name"] == "mqkit@a")
    return row["state"], row["running"], row["reason"]


def _listed(nodes: Cluster) -> list[str]:
    """The lines of ``mqkit ctl cluster_status``."""
    status = httpx.get(f"{nodes['a'].management_url}/api/cluster/status").json()
    return members_lines(status)


def test_without_etcd_and_peers_clients_go_and_come_back_with_etcd(
    nodes: Cluster, lone: pika.BlockingConnection
) -> None:
    nodes.etcd.pause()
    nodes.kill("b", "c")
    seconds, closed = _closed_after(lone)
    assert closed.reply_code == 320
    assert closed.reply_text == (
        "CONNECTION_FORCED - node 'mqkit@a' is cut off: for 10 s it has reached neither etcd nor a"
        " majority of its cluster's members; connect to another node"
    )
    assert PATIENCE_S - 3 < seconds < PATIENCE_S + SOME_S
    assert not _accepts(nodes)
    assert (_is_well(nodes), _runs(nodes)) == ([False] * 3, False)
    cut_off = closed.reply_text.removeprefix("CONNECTION_FORCED - ")
    assert _itself(nodes) == ("paused", False, cut_off)
    said = httpx.get(f"{nodes['a'].management_url}/api/health/checks/is-in-service").json()
    assert said["reason"] == f"node mqkit@a takes no clients: {cut_off}"
    assert f"mqkit@a: {cut_off}" in _listed(nodes)
    assert _status(nodes, "queues") == 200
    nodes.etcd.resume()
    assert _accepts_within(SOME_S, nodes)
    assert _itself(nodes) == ("running", True, "")
    assert (_is_well(nodes), _runs(nodes)) == ([True] * 3, True)


def test_without_etcd_a_majority_is_enough_to_serve_and_to_serve_again(
    nodes: Cluster, lone: pika.BlockingConnection
) -> None:
    nodes.etcd.pause()
    channel = lone.channel()
    channel.confirm_delivery()
    served_until = time.monotonic() + PATIENCE_S + 3
    while time.monotonic() < served_until:
        channel.basic_publish("", "its own", b"x")
        lone.process_data_events(0.1)
    nodes.pause("b", "c")
    _, closed = _closed_after(lone)
    assert closed.reply_code == 320
    assert not _accepts(nodes)
    nodes.resume("b")
    is_back = _accepts_within(2 * SOME_S, nodes)  # b has to answer a dial first
    assert is_back, "two of three, and no etcd: " + nodes["a"].errors()
