"""Nodes that can't join: a line that says why, and nothing is registered; or they wait, and say
what for."""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest

from mqkit.testing import Cluster, Etcd, etcd
from mqkit.testing.cluster import made_cluster

pytestmark = [pytest.mark.live, pytest.mark.slow]

END_S = 30
NOBODY = "http://127.0.0.1:9"
TEN_MINUTES_AHEAD = """
import sys, time
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + 600
time.time_ns = lambda: real_ns() + 600 * 1_000_000_000
from reference_broker.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def nodes(etcd_server: Etcd, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of which nothing is started."""
    with _cluster(etcd_server, tmp_path) as made:
        yield made


@contextmanager
def _cluster(server: Etcd, folder: Path) -> Iterator[Cluster]:
    made = made_cluster(folder, 2, server, name=f"bad input {folder.name} {id(folder)}")
    try:
        yield made
    finally:
        made.kill()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + END_S
    while not holds():
        assert time.monotonic() < end
        Event().wait(0.05)  # for another process, and nobody tells it


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _refusal(nodes: Cluster, name: str, *options: str) -> str:
    node = nodes[name]
    node.start(*options)
    assert node.wait(END_S) == 1
    assert node.ready_line == ""
    return node.errors()


def _assert_waits(nodes: Cluster, said: str, *options: str) -> None:
    """Node b waits, serves nobody, and ends when it is told to."""
    node = nodes["b"]
    node.start(*options)
    _until(lambda: said in node.errors())
    assert node.errors().startswith("waiting for etcd: ")
    assert not _listens(node.amqp_port)
    assert not _listens(node.management_port)
    node.signal(signal.SIGTERM)
    assert node.wait(END_S) == 0
    # One attempt follows another, and they are told of now and then.
    assert node.errors().count("\n") == 1


def _members(server: Etcd, nodes: Cluster) -> list[str]:
    prefix = f"/mqkit/{nodes.name.replace(' ', '%20')}/members/".encode()
    request = {
        "key": base64.b64encode(prefix).decode(),
        "range_end": base64.b64encode(prefix[:-1] + b"0").decode(),
    }
    answer = httpx.post(server.endpoints[0] + "/v3/kv/range", json=request).json()
    keys = [base64.b64decode(row["key"]).decode() for row in answer.get("kvs", ())]
    return [key.rpartition("/")[2] for key in keys]


def test_without_an_etcd_it_waits_and_says_so(nodes: Cluster) -> None:
    _assert_waits(nodes, f"etcd at {NOBODY}: Connection refused", "--etcd", NOBODY)


def test_messages_wait_for_etcd_in_the_log(nodes: Cluster, etcd_server: Etcd) -> None:
    nodes.start("a")
    api = nodes["a"].management_url
    assert httpx.put(f"{api}/api/queues/%2F/q", json={"durable": True}).status_code == 201
    message = {"properties": {"delivery_mode": 2}, "routing_key": "q", "payload": "x"}
    message["payload_encoding"] = "string"
    answer = httpx.post(f"{api}/api/exchanges/%2F/amq.default/publish", json=message)
    assert answer.json() == {"routed": True}
    nodes.kill("a")
    for end in (signal.SIGTERM, signal.SIGKILL):
        nodes["a"].start("--etcd", NOBODY)
        _until(lambda: "waiting for etcd" in nodes["a"].errors())
        nodes["a"].signal(end)
        nodes["a"].wait(END_S)
    nodes.start("a")
    got = httpx.post(
        f"{api}/api/queues/%2F/q/get",
        json={"count": 2, "ackmode": "ack_requeue_false", "encoding": "auto"},
    )
    assert [(each["payload"], each["redelivered"]) for each in got.json()] == [("x", True)]


def test_another_secret_is_refused(nodes: Cluster, etcd_server: Etcd, tmp_path: Path) -> None:
    nodes.start("a")
    other = tmp_path / "other"
    other.write_text("another secret\n")
    line = _refusal(nodes, "b", "--cluster-secret-file", str(other))
    assert line.startswith("reference_broker: the secret is not that of the cluster")
    assert line.count("\n") == 1
    assert _members(etcd_server, nodes) == ["a"]
    nodes.start("b")
    assert _members(etcd_server, nodes) == ["a", "b"]


@pytest.mark.parametrize("text", [None, " \n"])
def test_a_secret_that_is_none_is_refused(nodes: Cluster, tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "other"
    if text is not None:
        file.write_text(text)
    line = _refusal(nodes, "b", "--cluster-secret-file", str(file))
    assert str(file) in line
    assert "the cluster's secret" in line
    assert line.count("\n") == 1


def test_an_address_for_links_that_is_taken_is_named(nodes: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        line = _refusal(nodes, "b", "--cluster-listen", address)
    assert f"can't listen on {address}" in line
    assert "choose another address with --cluster-listen" in line


def test_a_clock_that_is_ten_minutes_off_is_refused(nodes: Cluster, etcd_server: Etcd) -> None:
    nodes.start("a")
    ended = subprocess.run(
        [sys.executable, "-c", TEN_MINUTES_AHEAD, *nodes["b"].options],
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )
    assert ended.returncode == 1
    assert "the clock of this machine is 600 s ahead of that of etcd: set both by NTP" in (
        ended.stderr.replace("599 s", "600 s").replace("601 s", "600 s")
    )
    assert ended.stderr.count("\n") == 1
    assert _members(etcd_server, nodes) == ["a"]


def test_of_two_that_start_with_one_name_one_is_left(nodes: Cluster) -> None:
    twin = nodes["b"]
    nodes["a"].start()
    twin.start("--node-name", "a")
    processes = list(nodes.nodes.values())
    _until(lambda: any(each.has_ended() for each in processes))
    _until(lambda: any(each.ready_line and not each.has_ended() for each in processes))
    (ended,) = (each for each in processes if each.has_ended())
    assert ended.wait(END_S) == 1
    assert "is taken by a node that is there" in ended.errors() or (
        "another process has joined as 'a': this one was replaced" in ended.errors()
    )


def test_an_etcd_that_wants_a_login(tmp_path: Path) -> None:
    with etcd(progress_every_s=1) as server, _cluster(server, tmp_path) as nodes:
        _want_logins(server)
        user, password = ("--etcd-user", "root"), tmp_path / "password"
        password.write_text("wrong\n")
        _assert_waits(nodes, "it wants a user and a password")
        (tmp_path / "b" / "stderr.txt").unlink()
        options = (*user, "--etcd-password-file", str(password))
        _assert_waits(nodes, "invalid user ID or password (user 'root')", *options)
        password.write_text("secret\n")
        nodes["b"].start(*options)
        nodes.await_ready("b")


def _want_logins(server: Etcd) -> None:
    for path, body in (
        ("user/add", {"name": "root", "password": "secret"}),
        ("role/add", {"name": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("enable", {}),
    ):
        answer = httpx.post(f"{server.endpoints[0]}/v3/auth/{path}", json=body)
        assert answer.status_code == 200, answer.text


def test_an_etcd_without_quorum_is_waited_for(tmp_path: Path) -> None:
    with etcd(members=3, progress_every_s=1) as server, _cluster(server, tmp_path) as nodes:
        server.kill(1, 2)
        nodes["b"].start()
        _until(lambda: "waiting for etcd" in nodes["b"].errors())
        assert not _listens(nodes["b"].amqp_port)
        server.start(1, 2)
        nodes.await_ready("b")
