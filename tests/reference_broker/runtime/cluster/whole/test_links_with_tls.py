"""Links with TLS between processes of brokers over a real etcd, with certificates of the test; and
nodes that are not linked, since one of two has no TLS, or a certificate that is not valid. Both say
so, in one line each."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import httpx
import pika
import pytest

from mqkit.testing import Cluster, Etcd
from mqkit.testing.certificates import Authority
from mqkit.testing.cluster import made_cluster
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.preface import encode_preface

pytestmark = [pytest.mark.live, pytest.mark.slow]

END_S = 30
SOME_DIALS_S = 4
"""Seconds for several dials: a pause between two is 2 s at most."""

REFUSED = "no link with node 'b': "
NOT_VALID = "the other node's certificate is not valid here: "
NO_TLS = (
    "the other node has no TLS (all nodes need --cluster-tls-cert, --cluster-tls-key and"
    " --cluster-tls-ca, or none of them)"
)
SEE_THERE = "and its log says why"


class Certificates:
    """The options of nodes for their links, with certificates of two authorities in a folder."""

    def __init__(self, folder: Path) -> None:
        self.ours, self.others = Authority(folder), Authority(folder, "others")

    def options(self, name: str, kind: str) -> tuple[str, ...]:
        """``good``, ``plain`` (no TLS at all), ``untrusted`` (a certificate of another authority),
        ``elsewhere`` (one for another host)."""
        if kind == "plain":
            return ()
        signing = self.others if kind == "untrusted" else self.ours
        host = "elsewhere.example.org" if kind == "elsewhere" else "127.0.0.1"
        issued = signing.issue(name, host)
        return (
            *("--cluster-tls-cert", str(issued.certificate), "--cluster-tls-key", str(issued.key)),
            *("--cluster-tls-ca", str(self.ours.path)),
        )


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def nodes(etcd_server: Etcd, tmp_path: Path) -> Iterator[Cluster]:
    """Three nodes, of which none is started."""
    made = made_cluster(tmp_path, 3, etcd_server, name=f"tls {tmp_path.name} {id(tmp_path)}")
    try:
        yield made
    finally:
        made.kill()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + END_S
    while not holds():
        assert time.monotonic() < end
        Event().wait(0.05)  # for another process, and nobody tells it


def _states(nodes: Cluster, name: str) -> list[str]:
    members = httpx.get(f"{nodes[name].management_url}/api/cluster/status").json()["members"]
    return [each["state"] for each in members]


def _has(nodes: Cluster, name: str, said: str) -> Callable[[], bool]:
    return lambda: said in nodes[name].errors()


def test_three_nodes_are_linked_over_tls(nodes: Cluster, certificates: Certificates) -> None:
    for name, node in nodes.nodes.items():
        node.start(*certificates.options(name, "good"))
    nodes.await_ready()
    for name in nodes.nodes:
        _until(lambda name=name: _states(nodes, name) == ["running"] * 3)  # type: ignore[misc]
        assert "no link" not in nodes[name].errors()
    here, there = (pika.BlockingConnection(pika.URLParameters(nodes[name].url)) for name in "ac")
    here.channel().queue_declare("here", durable=True)
    channel = there.channel()
    channel.confirm_delivery()
    body = bytes(range(256)) * 4096
    channel.basic_publish("", "here", body, mandatory=True)
    assert channel.basic_get("here", auto_ack=True)[2] == body
    for connection in (here, there):
        connection.close()


def test_who_dials_a_node_is_shown_its_certificate_and_asked_for_one(
    nodes: Cluster, certificates: Certificates
) -> None:
    nodes["a"].start(*certificates.options("a", "good"))
    nodes.await_ready("a")
    context = ssl.create_default_context(cafile=str(certificates.ours.path))
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # there the handshake tells it
    with socket.create_connection(("127.0.0.1", nodes["a"].link_port)) as dialled:
        dialled.sendall(encode_preface(Purpose.LINK))
        with pytest.raises(OSError, match=r"(?i)alert|reset|eof|closed"):
            context.wrap_socket(dialled, server_hostname="127.0.0.1")
    _until(_has(nodes, "a", "no link from a node at 127.0.0.1 over TLS: "))
    assert "peer did not return a certificate" in nodes["a"].errors()


@pytest.mark.parametrize(
    ("dialling", "dialled", "said", "said_there"),
    [
        ("good", "untrusted", NOT_VALID + "unable to get local issuer", SEE_THERE),
        ("untrusted", "good", SEE_THERE, NOT_VALID + "unable to get local issuer"),
        ("good", "elsewhere", NOT_VALID + "IP address mismatch", SEE_THERE),
        ("good", "plain", NO_TLS, "the other node has TLS, and this one has none"),
        ("plain", "good", SEE_THERE, NO_TLS),
    ],
)
def test_nodes_that_cannot_be_linked_both_say_why_in_one_line(
    nodes: Cluster,
    certificates: Certificates,
    dialling: str,
    dialled: str,
    said: str,
    said_there: str,
) -> None:
    nodes["a"].start(*certificates.options("a", dialling))
    nodes["b"].start(*certificates.options("b", dialled))
    nodes.await_ready("a", "b")
    _until(_has(nodes, "a", REFUSED))
    _until(_has(nodes, "b", "no link from a node at 127.0.0.1"))
    Event().wait(SOME_DIALS_S)  # it is dialled on, and no line is added
    for name, why in (("a", said), ("b", said_there)):
        (line,) = (line for line in nodes[name].errors().splitlines() if "no link" in line)
        assert why in line
        assert "_ssl.c" not in line
    assert _states(nodes, "a") == ["running", "unreachable"]
    assert _states(nodes, "b") == ["unreachable", "running"]


def test_another_secret_is_refused_over_tls(
    nodes: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    nodes["a"].start(*certificates.options("a", "good"))
    nodes.await_ready("a")
    other = tmp_path / "other"
    other.write_text("another secret\n")
    nodes["b"].start(*certificates.options("b", "good"), "--cluster-secret-file", str(other))
    assert nodes["b"].wait(END_S) == 1
    line = nodes["b"].errors()
    assert line.startswith("reference_broker: the secret is not that of the cluster")
    assert line.count("\n") == 1


@pytest.mark.parametrize("is_started_again", [True, False])
def test_a_node_that_has_been_given_a_valid_certificate_is_linked(
    nodes: Cluster, certificates: Certificates, is_started_again: bool
) -> None:
    nodes["a"].start(*certificates.options("a", "good"))
    nodes["b"].start(*certificates.options("b", "untrusted"))
    nodes.await_ready("a", "b")
    _until(_has(nodes, "a", REFUSED))
    if is_started_again:
        nodes.stop("b")
    options = certificates.options("b", "good")  # which renews the files
    if is_started_again:
        nodes["b"].start(*options)
    _until(_has(nodes, "a", "linked with node 'b'"))
    _until(_has(nodes, "b", "linked with node 'a'"))
