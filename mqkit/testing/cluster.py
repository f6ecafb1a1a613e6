"""Starts a private cluster of reference brokers for tests, and an etcd for it, on free ports of
127.0.0.1.

    with mqkit.testing.cluster(nodes=3) as cluster:
        cluster.kill("b")
        cluster.start("b")

Data lies in a temporary folder, and is gone with it. Needs the program ``etcd`` (Debian's
``etcd-server``).
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import string
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mqkit.errors import Unreachable
from mqkit.testing.cluster_node import PROGRAM, ClusterNode
from mqkit.testing.etcd import Etcd, EtcdUnavailable, etcd
from mqkit.testing.servers.free_ports import free_ports

START_TIMEOUT_S = 60.0
"""A node serves after about 1 s on an idle machine."""
POLL_INTERVAL_S = 0.05
NODES_MAX = 6


class ClusterUnavailable(Unreachable):
    """No cluster could be started. The message says why: skip with it."""


class Cluster:
    """A cluster whose nodes are up; their names are ``a``, ``b``, ``c`` and so on. A method that is
    given no name is for all. ``etcd`` is its etcd, to be stopped and killed, too."""

    def __init__(self, name: str, nodes: Sequence[ClusterNode], etcd: Etcd) -> None:
        self.name = name
        self.etcd = etcd
        self.nodes = {node.name: node for node in nodes}

    def __repr__(self) -> str:
        return f"Cluster({', '.join(self.nodes)})"

    def __getitem__(self, name: str) -> ClusterNode:
        """The node of that name. Raises :exc:`KeyError`."""
        return self.nodes[name]

    @property
    def urls(self) -> tuple[str, ...]:
        """The AMQP URL of each node: any is good for every client."""
        return tuple(node.url for node in self.nodes.values())

    @property
    def management_urls(self) -> tuple[str, ...]:
        """The URL of each node's management API."""
        return tuple(node.management_url for node in self.nodes.values())

    def start(self, *names: str) -> None:
        """Start nodes that were stopped or killed, with the data that they had, and return when
        they serve clients. Raises :exc:`ClusterUnavailable`."""
        chosen = self._chosen(names)
        for node in chosen:
            if node.has_ended():
                node.start()
        self.await_ready(*names)

    def await_ready(self, *names: str) -> None:
        """Return when the nodes serve clients. Raises :exc:`ClusterUnavailable`, with the end of
        what a node has written, for one that has ended, or does not for a minute."""
        deadline = time.monotonic() + START_TIMEOUT_S
        for node in self._chosen(names):
            while not node.ready_line:
                if node.has_ended() or time.monotonic() > deadline:
                    raise ClusterUnavailable(f"node {node.name!r} did not start: {node.tail()}")
                time.sleep(POLL_INTERVAL_S)

    def stop(self, *names: str) -> None:
        """End nodes, as their operator would. Idempotent."""
        for node in self._chosen(names):
            node.ask_to_stop()
        for node in self._chosen(names):
            node.stop()

    def kill(self, *names: str) -> None:
        """End nodes as a crash does (SIGKILL). Idempotent."""
        for node in self._chosen(names):
            node.kill()

    def pause(self, *names: str) -> None:
        """Have nodes stand still: connections to them are made, and nothing is answered."""
        for node in self._chosen(names):
            node.signal(signal.SIGSTOP)

    def resume(self, *names: str) -> None:
        """Have paused nodes go on. Idempotent."""
        for node in self._chosen(names):
            node.signal(signal.SIGCONT)

    def _chosen(self, names: Sequence[str]) -> Sequence[ClusterNode]:
        return [self.nodes[name] for name in names] if names else list(self.nodes.values())


@contextmanager
def cluster(
    *,
    nodes: int = 3,
    etcd_members: int = 1,
    options: Sequence[str] = (),
    program: Sequence[str] = PROGRAM,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Cluster]:
    """A cluster of so many nodes, up to :data:`NODES_MAX`, for the time of the block; then its
    processes are ended, and its folder is removed. ``options`` are further ones of ``mqkit broker
    run``, for every node, and ``program`` is what Python is given before them.

    Raises :exc:`ClusterUnavailable` where there is no ``etcd`` on ``PATH``, or a node that does not
    start.
    """
    if not 0 < nodes <= NODES_MAX:
        raise ValueError(f"a cluster has 1 to {NODES_MAX} nodes, and not {nodes}")
    with ExitStack() as stack:
        try:
            found = stack.enter_context(
                etcd(members=etcd_members, progress_every_s=1, environ=environ)
            )
        except EtcdUnavailable as why:
            raise ClusterUnavailable(str(why)) from None
        folder = Path(tempfile.mkdtemp(prefix="mqkit-cluster-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        made = made_cluster(folder, nodes, found, options, program=program)
        stack.callback(made.kill)
        made.start()
        yield made


def made_cluster(
    folder: Path,
    nodes: int,
    etcd: Etcd,
    options: Sequence[str] = (),
    name: str = "test",
    program: Sequence[str] = PROGRAM,
    ports: Sequence[tuple[int, int]] = (),
) -> Cluster:
    """A cluster whose nodes are not started yet, with their data in ``folder``. Each has its
    ``ports``, for AMQP and the management API, or free ones."""
    secret = folder / "secret"
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    shared = (
        *("--cluster-name", name, "--etcd", ",".join(etcd.endpoints)),
        *("--cluster-secret-file", str(secret), *options),
    )
    free = free_ports(3 * nodes)
    links, others = free[:nodes], free[nodes:]
    clients = ports or list(zip(others[::2], others[1::2], strict=True))
    return Cluster(
        name,
        [
            ClusterNode(each, folder / each, (*own, link), shared, program)
            for each, own, link in zip(string.ascii_lowercase, clients, links, strict=False)
        ],
        etcd,
    )
