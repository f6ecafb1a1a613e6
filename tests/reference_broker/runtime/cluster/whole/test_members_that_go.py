"""Real processes: a node that is drained while clients of others work with its queues, and revived;
and one that is forgotten, and its folder that comes back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.testing import Cluster
from mqkit_cli.ctl.main import run

pytestmark = [pytest.mark.live, pytest.mark.slow]

STORED = pika.BasicProperties(delivery_mode=2)
END_S = 30


@contextmanager
def _channel(nodes: Cluster, name: str) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(nodes[name].url))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        if connection.is_open:
            connection.close()


class Ctl:
    """``mqkit ctl`` at a node, with what it prints."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, nodes: Cluster
    ) -> None:
        self._capsys = capsys
        self._patch = patch
        self._nodes = nodes

    def __call__(self, node: str, *words: str) -> tuple[int, str]:
        """The exit code, and what was printed."""
        self._patch.setenv("MQKIT_MANAGEMENT_URL", self._nodes[node].management_url)
        code = run(["-q", *words])
        printed = self._capsys.readouterr()
        return code, printed.out + printed.err


@pytest.fixture
def ctl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nodes: Cluster) -> Ctl:
    return Ctl(capsys, monkeypatch, nodes)


def _placed(nodes: Cluster, name: str) -> set[str]:
    """The homes of queues that are declared at that node, one for each node, as balanced ones."""
    spread = {"x-queue-leader-locator": "balanced", "x-queue-type": "quorum"}
    with _channel(nodes, name) as channel:
        for number in range(3):
            channel.queue_declare(f"placed {number}", durable=True, arguments=spread)
        rows = httpx.get(f"{nodes[name].management_url}/api/queues?columns=name,node").json()
        for number in range(3):
            channel.queue_delete(f"placed {number}")
    return {row["node"] for row in rows if row["name"].startswith("placed")}


def test_a_node_is_drained_while_its_queues_serve_others_and_revived(
    nodes: Cluster, ctl: Ctl
) -> None:
    assert ctl("a", "await_online_nodes", "3", "--timeout", "10") == (0, "")
    code, said = ctl("a", "await_online_nodes", "4", "--timeout", "0.1")
    assert (code, said) == (70, "Error:\ntimed out while waiting: 3 of 4 nodes are online\n")
    assert _placed(nodes, "b") == {"mqkit@a", "mqkit@b", "mqkit@c"}
    quorum = {"x-queue-type": "quorum"}
    critical = f"{nodes['b'].management_url}/api/health/checks/node-is-quorum-critical"
    assert httpx.get(critical).json() == {"status": "ok"}
    with _channel(nodes, "b") as b:
        b.queue_declare("busy", durable=True, arguments=quorum)
    assert [each["name"] for each in httpx.get(critical).json()["queues"]] == ["busy"]
    here = pika.BlockingConnection(pika.URLParameters(nodes["b"].url))
    with _channel(nodes, "a") as elsewhere:
        for _ in range(2):
            assert ctl("b", "drain") == (0, "")
            elsewhere.basic_publish("", "busy", b"x", STORED)
        with pytest.raises(pika.exceptions.ConnectionClosedByBroker, match=r"320.*maintenance"):
            here.process_data_events(time_limit=10)
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            pika.BlockingConnection(pika.URLParameters(nodes["b"].url))
        assert httpx.get(f"{nodes['b'].management_url}/api/health/checks/is-in-service").is_error
        assert "Nodes Under Maintenance\n\nmqkit@b\n" in ctl("c", "cluster_status")[1]
        rows = httpx.get(f"{nodes['c'].management_url}/api/nodes").json()
        assert [row["name"] for row in rows if row["being_drained"]] == ["mqkit@b"]
        assert _placed(nodes, "c") == {"mqkit@a", "mqkit@c"}
        for _ in range(2):
            assert ctl("b", "revive") == (0, "")
        assert [elsewhere.basic_get("busy", auto_ack=True)[2] for _ in range(2)] == [b"x"] * 2
    assert httpx.get(f"{nodes['b'].management_url}/api/health/checks/is-in-service").is_success
    assert "Maintenance" not in ctl("c", "cluster_status")[1]
    with _channel(nodes, "b") as b:
        b.queue_delete("busy")
    assert _placed(nodes, "c") == {"mqkit@a", "mqkit@b", "mqkit@c"}


def test_a_node_is_forgotten_and_its_folder_is_refused(nodes: Cluster, ctl: Ctl) -> None:
    nodes.stop("c")
    nodes.start("c")  # its second run: what follows may be none of it
    with _channel(nodes, "c") as c:
        c.exchange_declare("orders", "topic", durable=True)
        for number in range(200):
            c.queue_declare(f"gone {number}", durable=True)
            c.queue_bind(f"gone {number}", "orders", f"k.{number}")
        c.basic_publish("", "gone 0", b"lost", STORED)
    code, said = ctl("a", "forget_cluster_node", "c", "--accept-data-loss")
    assert (code, "node 'c' is there: stop it" in said) == (69, True)
    nodes.kill("c")
    with _channel(nodes, "b") as b:
        b.queue_declare("kept", durable=True)
        b.basic_publish("", "kept", b"there", STORED)
    code, said = _until_down(ctl)
    assert (code, "home of 200 durable queues" in said) == (69, True)
    code, said = ctl("a", "forget_cluster_node", "mqkit@c", "--accept-data-loss")
    assert (code, said) == (0, "Node mqkit@c was removed, with 200 durable queues\n")
    for name in "ab":
        rows = httpx.get(f"{nodes[name].management_url}/api/queues").json()
        assert [row["name"] for row in rows] == ["kept"]
        status = httpx.get(f"{nodes[name].management_url}/api/cluster/status").json()
        assert [each["name"] for each in status["members"]] == ["mqkit@a", "mqkit@b"]
    assert ctl("b", "forget_cluster_node", "c")[0] == 69

    nodes["c"].start()
    assert nodes["c"].wait(END_S) == 1
    assert "the node 'c' was forgotten by the cluster 'test'" in nodes["c"].errors()
    shutil.rmtree(nodes["c"].data_dir)
    nodes.start("c")
    with _channel(nodes, "c") as c, _channel(nodes, "a") as a:
        c.queue_declare("gone 0", durable=True)
        assert a.queue_declare("gone 0", passive=True).method.message_count == 0
        assert c.basic_get("kept", auto_ack=True)[2] == b"there"


def _until_down(ctl: Ctl) -> tuple[int, str]:
    """The answer to forgetting ``c`` once its lease is over."""
    while True:
        code, said = ctl("a", "forget_cluster_node", "c")
        if "is there: stop it" not in said:
            return code, said
