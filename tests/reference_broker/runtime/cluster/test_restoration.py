"""restoration: real nodes whose etcd has lost the metadata, or has an older copy of it, drop
nothing, and go on with what a data folder has."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from typer.testing import CliRunner

from mqkit.testing import Cluster
from mqkit.testing.cluster import made_cluster
from mqkit.testing.cluster_node import ClusterNode
from mqkit.testing.etcd import Etcd
from mqkit.testing.etcd_member import EtcdMember
from mqkit.testing.servers.free_ports import free_ports
from mqkit_cli.app import app

PROGRAM = shutil.which("etcd")
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="there is no etcd here"),
]
STORED = pika.BasicProperties(delivery_mode=2)
END_S = 30
"""Seconds for a node to see that etcd is another one, and to end."""


class Place:
    """Two nodes, and an etcd whose data the test has in its hands."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        first, second = free_ports(2)
        member = EtcdMember(PROGRAM, "m0", folder / "etcd", (first, second), None, ())
        self.etcd = Etcd([member])
        self.etcd_data = folder / "etcd" / "data"
        self.etcd.start()
        (folder / "nodes").mkdir()
        self.cluster: Cluster = made_cluster(folder / "nodes", 2, self.etcd, name="prod")

    @contextmanager
    def etcd_stopped(self) -> Iterator[None]:
        self.etcd.stop()
        yield
        self.etcd.start()

    def folder(self, name: str) -> str:
        options = self.cluster[name].options
        return options[options.index("--data-dir") + 1]

    def restore(self, name: str) -> str:
        """The output of the command that restores what the folder of that node has."""
        words = ["cluster", "restore-metadata", self.folder(name), "--cluster-name", "prod"]
        done = CliRunner().invoke(app, [*words, "--etcd", ",".join(self.etcd.endpoints), "--yes"])
        return f"{done.output}{done.exception}"

    @contextmanager
    def channel(self, name: str) -> Iterator[BlockingChannel]:
        connection = pika.BlockingConnection(pika.URLParameters(self.cluster[name].url))
        try:
            channel = connection.channel()
            channel.confirm_delivery()
            yield channel
        finally:
            connection.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    try:
        for name in made.cluster.nodes:  # the first one founds it
            made.cluster.start(name)
        yield made
    finally:
        made.cluster.stop()
        made.etcd.kill()


def _refused(node: ClusterNode) -> str:
    """The reason for which the node does not start."""
    node.start()
    assert node.wait(END_S) == 1
    return node.tail()


def _write(etcd: Etcd, key: str) -> None:
    """Write to etcd, as somebody does who shares it."""
    name = base64.b64encode(key.encode()).decode()
    httpx.post(f"{etcd.endpoints[0]}/v3/kv/put", json={"key": name}).raise_for_status()


def _publish(channel: BlockingChannel, exchange: str, key: str, count: int) -> None:
    for number in range(count):
        channel.basic_publish(exchange, key, b"%d" % number, STORED, mandatory=True)


def _bodies(channel: BlockingChannel, queue: str) -> list[bytes]:
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append(got[2])
    return found


def test_an_etcd_that_has_lost_everything_has_it_again(place: Place) -> None:
    nodes = place.cluster
    for name in nodes.nodes:
        with place.channel(name) as channel:
            channel.exchange_declare("x", "direct", durable=True)
            channel.queue_declare(f"of {name}", durable=True)
            channel.queue_bind(f"of {name}", "x", name)
            _publish(channel, "x", name, 3)
    nodes.stop()
    assert "there is nothing to restore" in place.restore("a")
    with place.etcd_stopped():
        shutil.rmtree(place.etcd_data)
    assert "a cluster that etcd doesn't have" in _refused(nodes["a"])
    assert "history 1 of the cluster begins" in place.restore("a")
    nodes.start()
    with place.channel("a") as channel:
        _publish(channel, "x", "b", 1)
        assert _bodies(channel, "of a") == [b"0", b"1", b"2"]
        assert _bodies(channel, "of b") == [b"0", b"1", b"2", b"0"]
    nodes.stop()
    nodes.start()


def test_an_etcd_that_was_restored_from_an_older_copy_drops_nothing(
    place: Place, tmp_path: Path
) -> None:
    nodes = place.cluster
    with place.etcd_stopped():
        shutil.copytree(place.etcd_data, tmp_path / "older")
    with place.channel("b") as channel:
        channel.queue_declare("later", durable=True)
        _publish(channel, "", "later", 2)
        for number in range(20):  # more than is written while nodes find out
            channel.exchange_declare(f"x{number}", durable=True)
    with place.etcd_stopped():
        shutil.rmtree(place.etcd_data)
        shutil.copytree(tmp_path / "older", place.etcd_data)
    for node in nodes.nodes.values():
        assert node.wait(END_S) == 1
        assert "it was restored from an older copy" in node.tail()
    for seen in ("this data folder has seen", "a change of 'b' is not in it"):
        assert seen in _refused(nodes["b"])
        for number in range(20):  # until etcd is at the revisions that were lost
            _write(place.etcd, f"another's/{number}")
    assert "Start its nodes now" in place.restore("b")
    nodes.start()
    with place.channel("a") as channel:
        assert _bodies(channel, "later") == [b"0", b"1"]
