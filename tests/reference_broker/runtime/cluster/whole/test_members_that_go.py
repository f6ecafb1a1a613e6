"""Real processes: a node that is forgotten, and its folder that comes back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.testing import Cluster, ClusterUnavailable, cluster
from mqkit_cli.ctl.main import run

pytestmark = [pytest.mark.live, pytest.mark.slow]

STORED = pika.BasicProperties(delivery_mode=2)
END_S = 30


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=3) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


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
def ctl(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nodes: Cluster
) -> Ctl:
    return Ctl(capsys, monkeypatch, nodes)


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
    """What is said of forgetting ``c`` when its lease is over."""
    while True:
        code, said = ctl("a", "forget_cluster_node", "c")
        if "is there: stop it" not in said:
            return code, said
