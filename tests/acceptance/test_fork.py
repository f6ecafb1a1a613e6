"""A fork of dead-letter exchanges, in which one message becomes 2^24 dead letters.

48 queues in 24 levels keep nothing (``x-max-length: 0``), and both of a level dead-letter to both
of the next. The work never ends within a test; what must hold is that it is in nobody's way.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from interop.elsewhere.cluster import CLIENTS, HOME, queues_elsewhere
from mqkit.testing import Cluster
from mqkit.testing.servers.free_ports import HOST
from mqkit.wire import methods
from mqkit_bench.contestant import Contestant
from mqkit_bench.server import ReferenceServer, Server
from mqkit_bench.session import Address, Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.dead_letters import (
    FORK_LEVELS,
    fork_exchange,
    fork_queues,
    fork_topology,
)
from mqkit_bench.stalls.played import await_calm
from mqkit_bench.stalls.tenant import VHOST, Tenant, barrier

pytestmark = pytest.mark.slow

ANSWER_S = 10.0
"""A broker that has not answered by then does not serve."""
WATERMARK_BYTES = 256 * 2**20
LOOKS = 100
HEAD = "fork.head"
HEAD_TTL_MS = 500
"""Longer than the kill takes, and shorter than the start."""


class ServerOfTwo:
    """Two nodes: clients are at one, and the other has the queues and is administered and looked
    at. Both go and come together."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def contestant(self) -> Contestant:
        home, address = self._cluster[HOME], Address(HOST, self._cluster[CLIENTS].amqp_port)
        url = f"http://{HOST}:{home.management_port}"
        return Contestant("two nodes", address, url, home.pid)

    def start(self) -> None:
        self._cluster.start()

    def stop(self) -> None:
        self._cluster.stop()

    def kill(self) -> None:
        self._cluster.kill()


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if request.config.getoption("--on-cluster"):
        with queues_elsewhere() as cluster:
            yield ServerOfTwo(cluster)
        return
    server = ReferenceServer(tmp_path)
    yield server
    server.kill()  # one that hangs would get a minute to end by itself
    server.end()


def begin(server: Server) -> None:
    """Declare the fork, and publish its one message."""
    tenant = Tenant(server.contestant)
    session = tenant.prepare(fork_topology(FORK_LEVELS))
    session.socket.sendall(frames.publish(fork_exchange(0), ""))
    tenant.hang_up()


def begin_durable(server: Server) -> None:
    """Declare it durable behind a queue with a TTL, publish, and end the broker before that is
    over: the message is in the log, and overdue at the next start."""
    tenant = Tenant(server.contestant)
    arguments = {"x-message-ttl": HEAD_TTL_MS, "x-dead-letter-exchange": fork_exchange(0)}
    session = tenant.prepare(
        [
            *fork_topology(FORK_LEVELS, durable=True),
            frames.declare(HEAD, arguments, durable=True),
        ]
    )
    session.confirms()
    session.socket.sendall(frames.publish("", HEAD, persistent=True))
    session.expect(methods.BasicAck)
    tenant.hang_up()


def administrator(server: Server) -> httpx.Client:
    return httpx.Client(
        base_url=server.contestant.management_url,
        auth=("guest", "guest"),
        timeout=ANSWER_S,
        trust_env=False,
    )


def expect_others_served(server: Server) -> None:
    """Another virtual host's client publishes and gets, and HTTP answers."""
    with closing(Session(server.contestant.address, ANSWER_S)) as session:
        session.declare("others")
        for published in range(1, LOOKS + 1):
            session.socket.sendall(frames.publish("", "others", persistent=True))
            barrier(session)
            assert session.ready("others") == published
        session.delete("others")
    with administrator(server) as client:
        assert client.get("/api/health/checks/alarms").status_code == 200


def expect_below_watermark(server: Server) -> None:
    with administrator(server) as client:
        path = f"/api/nodes/{client.get('/api/overview').json()['node']}"
        watermark = {"absolute": WATERMARK_BYTES}
        client.put(f"{path}/vm-memory-high-watermark", json=watermark).raise_for_status()
        for _ in range(LOOKS):
            node = client.get(path).json()
            assert not node["mem_alarm"]
            assert node["mem_used"] < WATERMARK_BYTES
            assert server.contestant.rss_mib() < WATERMARK_BYTES / 2**20


def expect_end_by_deletion(server: Server) -> None:
    """All its queues are deleted over HTTP; then the broker has nothing to do any more."""
    with administrator(server) as client:
        for level in range(FORK_LEVELS):
            for queue in fork_queues(level):
                answer = client.delete(f"/api/queues/{VHOST}/{queue}")
                assert answer.status_code == 204, answer.text
    assert await_calm(server.contestant), "the fork went on without its queues"


@pytest.fixture(params=["transient", "durable, after kill -9"])
def forking(request: pytest.FixtureRequest, server: Server) -> Server:
    """A broker in which the fork is under way."""
    if request.param == "transient":
        begin(server)
        return server
    begin_durable(server)
    server.kill()
    server.start()
    return server


def test_others_are_served(forking: Server) -> None:
    expect_others_served(forking)


def test_memory_stays_below_the_watermark(forking: Server) -> None:
    expect_below_watermark(forking)


def test_sigterm_is_obeyed(forking: Server) -> None:
    descriptor = os.pidfd_open(forking.contestant.pid)
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(1000 * ANSWER_S), f"it was there {ANSWER_S:.0f} s after SIGTERM"
    finally:
        os.close(descriptor)
    forking.stop()  # it has ended, with 0


def test_deleting_its_queues_ends_it(forking: Server) -> None:
    expect_end_by_deletion(forking)
    expect_others_served(forking)
