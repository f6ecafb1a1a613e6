"""Data folders of single nodes that found a cluster, or join one, and folders that may not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from mqkit.testing import Cluster, Etcd
from mqkit.testing.cluster import made_cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]

STORED = pika.BasicProperties(delivery_mode=2)
END_S = 30
QUEUES = 60


@contextmanager
def _at(url: str) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        connection.close()


def _single_node(folder: Path, fill: Callable[[BlockingChannel], None]) -> None:
    """Have a broker on its own leave ``folder`` behind."""
    folder.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "reference_broker", "--data-dir", str(folder)]
    for option in ("--listen", "--http"):
        command += [option, "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().partition("amqp=127.0.0.1:")[2].split()[0]
        with _at(f"amqp://guest:guest@127.0.0.1:{port}/") as channel:
            fill(channel)
        process.terminate()


def _filled_for(name: str) -> Callable[[BlockingChannel], None]:
    def fill(channel: BlockingChannel) -> None:
        channel.exchange_declare("orders", "topic", durable=True)
        delayed = {"x-delayed-type": "direct"}
        channel.exchange_declare("later", "x-delayed-message", durable=True, arguments=delayed)
        for number in range(QUEUES):
            queue = f"{name}{number}"
            channel.queue_declare(queue, durable=True)
            channel.queue_bind(queue, "orders", f"{name}.{number}.#")
        quorum = {"x-queue-type": "quorum"}
        channel.queue_declare(f"{name} quorum", durable=True, arguments=quorum)
        priorities = {"x-max-priority": 5}
        channel.queue_declare(f"{name} levels", durable=True, arguments=priorities)
        for number in range(600):
            channel.basic_publish("", f"{name}0", b"%d" % number, STORED)
        for priority in (1, 5):
            properties = pika.BasicProperties(delivery_mode=2, priority=priority)
            channel.basic_publish("", f"{name} levels", b"%d" % priority, properties)
        channel.basic_publish("", f"{name} quorum", b"came back", STORED)
        got = channel.basic_get(f"{name} quorum")[0]
        channel.basic_nack(got.delivery_tag)
        waits = pika.BasicProperties(delivery_mode=2, headers={"x-delay": 3_600_000})
        channel.basic_publish("later", "k", b"x", waits)

    return fill


def _check_of(name: str, channel: BlockingChannel) -> None:
    """Everything that was brought by that node is there."""
    for number in range(1, QUEUES):
        channel.queue_declare(f"{name}{number}", passive=True)
    queue = f"{name}0"
    got = [channel.basic_get(queue) for _ in range(600)]
    assert [body for _, _, body in got] == [b"%d" % number for number in range(600)]
    assert not any(method.redelivered for method, _, _ in got)
    for method, _, _ in got:
        channel.basic_nack(method.delivery_tag)
    levels = [channel.basic_get(f"{name} levels")[2] for _ in range(2)]
    assert levels == [b"5", b"1"]
    method, properties, body = channel.basic_get(f"{name} quorum")
    assert (method.redelivered, body) == (True, b"came back")
    assert properties.headers["x-delivery-count"] == 1


@pytest.fixture
def nodes(etcd_server: Etcd, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of which nothing is started."""
    made = made_cluster(tmp_path, 3, etcd_server, name=f"folders {tmp_path.name} {id(tmp_path)}")
    try:
        yield made
    finally:
        made.kill()


def _refusal(nodes: Cluster, name: str, *options: str) -> str:
    """The line with which the node refuses to start."""
    node = nodes[name]
    node.start(*options)
    assert node.wait(END_S) == 1
    lines = [line for line in node.errors().splitlines() if line.startswith("reference_broker: ")]
    assert node.ready_line == ""
    return lines[-1]


def test_a_founder_and_one_that_joins_bring_definitions_and_messages(nodes: Cluster) -> None:
    for name in "ab":
        _single_node(nodes[name].data_dir, _filled_for(name))
    for name in "abc":
        nodes.start(name)
    for name in "ab":
        with _at(nodes["c"].url) as elsewhere:
            elsewhere.queue_declare(f"{name}1", passive=True)
        with _at(nodes[name].url) as channel:
            _check_of(name, channel)
    nodes.stop("b")
    nodes.start("b")
    with _at(nodes["b"].url) as channel:
        assert channel.queue_declare("b0", passive=True).method.message_count == 600
    # It is a folder of the cluster's from now on.
    nodes.stop("b")
    single = subprocess.run(
        [sys.executable, "-m", "reference_broker", "--data-dir", str(nodes["b"].data_dir)],
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )
    assert single.returncode == 1
    assert single.stderr.startswith("reference_broker: the data folder is that of a node of a")
    assert single.stderr.count("\n") == 1


def test_a_folder_whose_names_are_taken_is_refused_and_nothing_of_it_is_there(
    nodes: Cluster,
) -> None:
    nodes.start("a")
    with _at(nodes["a"].url) as channel:
        channel.exchange_declare("orders", "fanout", durable=True)
    _single_node(nodes["b"].data_dir, _filled_for("b"))
    for _ in range(2):
        line = _refusal(nodes, "b")
        assert "exchange 'orders' in vhost '/' is another one there" in line
    with _at(nodes["a"].url) as channel, pytest.raises(pika.exceptions.ChannelClosedByBroker):
        channel.queue_declare("b1", passive=True)
    with _at(nodes["a"].url) as channel:
        channel.exchange_delete("orders")
    nodes.start("b")
    with _at(nodes["b"].url) as channel:
        _check_of("b", channel)


def test_folders_of_others_and_names_that_are_taken_are_refused(
    nodes: Cluster, etcd_server: Etcd, tmp_path: Path
) -> None:
    nodes.start("a")
    taken = _refusal(nodes, "b", "--node-name", "a")
    assert "the node name 'a' is taken by a node that is there" in taken
    nodes.stop("a")
    folder = str(nodes["a"].data_dir)
    other_name = _refusal(nodes, "b", "--data-dir", folder)
    assert "belongs to the node 'a', and this is 'b': start it with --node-name a" in other_name
    elsewhere = f"another {nodes.name}"
    nowhere = _refusal(nodes, "a", "--cluster-name", elsewhere)
    assert "belongs to a cluster that etcd doesn't have" in nowhere
    nodes["c"].start("--cluster-name", elsewhere)
    nodes.await_ready("c")
    other = _refusal(nodes, "a", "--cluster-name", elsewhere)
    assert "the data folder belongs to another cluster than" in other
    nodes.start("a")


def test_a_node_that_was_replaced_while_it_slept_ends(nodes: Cluster) -> None:
    nodes.start("a")
    nodes.pause("a")
    twin = nodes["b"]
    while not twin.ready_line:  # until the lease of the one that sleeps is over
        twin.start("--node-name", "a")
        while not twin.ready_line and not twin.has_ended():
            Event().wait(0.05)  # for another process, and nobody tells it
    assert "is taken by a node that is there" in twin.errors()
    nodes.resume("a")
    assert nodes["a"].wait(END_S) == 1
    assert "another process has joined as 'a': this one was replaced" in nodes["a"].errors()


def test_an_older_image_of_a_folder_is_refused(nodes: Cluster, tmp_path: Path) -> None:
    nodes.start("a")
    nodes.stop("a")
    image = tmp_path / "image"
    subprocess.run(["cp", "-a", str(nodes["a"].data_dir), str(image)], check=True)
    for _ in range(2):
        nodes.start("a")
        nodes.stop("a")
    line = _refusal(nodes, "a", "--data-dir", str(image))
    assert "is an older image of itself" in line
