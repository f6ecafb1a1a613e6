"""Churn: what is made and ends again leaves nothing behind in the broker's process.

Connections, channels, queues, exchanges, consumers, users, policies, wrong logins and requests over
HTTP come and go, in blocks that end with nothing left. Resident memory may grow in the first three
quarters (tables, caches and the heap find their size), and not in the last; descriptors and threads
not at all.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from interop.elsewhere.cluster import CLIENTS, queues_elsewhere
from mqkit.wire import (
    PROTOCOL_HEADER,
    FrameParser,
    Properties,
    content_frames,
    decode_method,
    method_frame,
)
from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicPublish,
    BasicQos,
    BasicQosOk,
    ChannelClose,
    ChannelOpen,
    ConfirmSelect,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStartOk,
    ConnectionTuneOk,
    ExchangeDeclare,
    ExchangeDelete,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDelete,
)
from reference_broker.runtime.etcd.gateway import CONNECTIONS_MAX

OPERATIONS = int(os.environ.get("MQKIT_CHURN_OPERATIONS", "50000"))
GROWTH_PER_OPERATION = 5 * 2**20 / 125_000
"""Bytes: 5 MiB in the last quarter of 500,000 operations."""

GROWTH_BYTES_MIN = 1 << 20
"""Bytes that are too few to tell: CPython takes its memory from the system a MiB at a time."""

SAMPLES = 40
LOOKING_S = 1
HTTP_EVERY = 10
"""Blocks for one round over HTTP: a password costs the broker 20 ms."""

WAIT_S = 60
FRAME_MAX = 131_072
PERSISTENT = Properties(delivery_mode=2)


class Client:
    """A connection that sends many methods at once, and reads until one answer."""

    def __init__(self, port: int, password: bytes = b"guest") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), WAIT_S)
        self._parser = FrameParser(frame_max=FRAME_MAX)
        self._socket.sendall(
            PROTOCOL_HEADER
            + method_frame(0, ConnectionStartOk({}, "PLAIN", b"\0guest\0" + password))
        )
        if password == b"guest":
            tuned = method_frame(0, ConnectionTuneOk(2_047, FRAME_MAX, 0))
            self._socket.sendall(tuned + method_frame(0, ConnectionOpen("/")))
            self.read_until(ConnectionOpenOk)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_until(self, awaited: type[Method]) -> None:
        while True:
            self._parser.receive_data(self._received())
            while (frame := self._parser.next_frame()) is not None:
                if frame.type == 1 and isinstance(decode_method(frame.payload), awaited):
                    return

    def _received(self) -> bytes:
        data = self._socket.recv(1 << 16)
        assert data, "the broker closed the connection"
        return data

    def leave(self) -> None:
        """Close as a client that is polite."""
        self.send(method_frame(0, ConnectionClose(200, "", 0, 0)))
        self.read_until(ConnectionCloseOk)
        self.drop()

    def drop(self) -> None:
        self._socket.close()


def block(number: int) -> tuple[bytes, int]:
    """The octets of one block on a connection, and how many operations it has. Nothing of it is
    left when its last answer is here."""
    frames: list[bytes] = []

    def put(*methods: Method, channel: int = 1) -> None:
        frames.extend(method_frame(channel, method) for method in methods)

    def publish(exchange: str, key: str) -> None:
        method = BasicPublish(exchange, key)
        frames.append(content_frames(1, method, PERSISTENT, b"x" * 100, FRAME_MAX))

    for each in range(12):
        name = f"churn {number} {each}"
        arguments = [{}, {"x-expires": 60_000, "x-message-ttl": 50_000}, {"x-max-priority": 4}]
        put(QueueDeclare(name, durable=each % 2 == 0, nowait=True, arguments=arguments[each % 3]))
        publish("", name)
        put(QueueDelete(name, nowait=True))
    put(QueueDeclare("churn", nowait=True))
    for each in range(6):
        name = f"churn {number} {each}"
        put(ExchangeDeclare(name, "topic", durable=each % 2 == 0, nowait=True))
        put(QueueBind("churn", name, f"a.{number}.#", nowait=True))
        publish(name, f"a.{number}.b")
        put(ExchangeDelete(name, nowait=True))
    for each in range(10):
        put(BasicConsume("churn", f"tag {number} {each}", no_ack=True, nowait=True))
        put(BasicCancel(f"tag {number} {each}", nowait=True))
    put(QueueDelete("churn", nowait=True))
    for channel in range(2, 10):
        put(ChannelOpen(), ConfirmSelect(nowait=True), channel=channel)
        put(ChannelClose(200, "", 0, 0), channel=channel)
    put(BasicQos(0, 1, False))
    return b"".join(frames), 12 * 3 + 6 * 4 + 10 * 2 + 8 * 3 + 2


class Management:
    """Requests over HTTP, on one connection for each round."""

    def __init__(self, port: int) -> None:
        self._port = port
        login = base64.b64encode(b"guest:guest").decode()
        self._headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}

    def round(self, number: int) -> int:
        """Make and remove a user and a policy, look at the overview; how many requests."""
        user = {"password": f"secret {number}", "tags": "management"}
        policy = {"pattern": "^no", "definition": {"max-length": number + 1}, "apply-to": "queues"}
        permission = {"configure": ".*", "write": ".*", "read": f"churn {number}"}
        requests = [
            ("PUT", f"/api/users/user-{number}", user),
            ("PUT", f"/api/permissions/%2F/user-{number}", permission),
            ("PUT", f"/api/policies/%2F/policy-{number}", policy),
            ("GET", "/api/overview", None),
            ("GET", "/api/queues", None),
            ("DELETE", f"/api/policies/%2F/policy-{number}", None),
            ("DELETE", f"/api/users/user-{number}", None),
        ]
        connection = HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        for method, path, body in requests:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self._headers)
            answer = connection.getresponse()
            assert answer.status in (200, 201, 204), (method, path, answer.status, answer.read())
            answer.read()
        connection.close()
        return len(requests)


class Processes:
    """A broker's processes, and what the system says about them. ``connections`` are those that
    they may have besides with others, once they have needed them."""

    def __init__(
        self, amqp_port: int, http_port: int, pids: Sequence[int], connections: int = 0
    ) -> None:
        self.connections = connections
        self.amqp_port = amqp_port
        self.http_port = http_port
        self._places = [Path(f"/proc/{pid}") for pid in pids]

    def resident_bytes(self) -> int:
        pages = sum(int((place / "statm").read_text().split()[1]) for place in self._places)
        return pages * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        return sum(len(os.listdir(place / "fd")) for place in self._places)

    def threads(self) -> int:
        return sum(len(os.listdir(place / "task")) for place in self._places)


@contextmanager
def one_process(data_dir: Path) -> Iterator[Processes]:
    """A broker on its own."""
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run"]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().split()
        assert line[:1] == ["ready"], f"the broker did not start: {line}"
        ports = dict(part.split("=", 1) for part in line[1:])
        amqp, http = (int(ports[name].rpartition(":")[2]) for name in ("amqp", "http"))
        yield Processes(amqp, http, [process.pid])
    finally:
        process.terminate()
        process.wait(WAIT_S)


@contextmanager
def two_processes() -> Iterator[Processes]:
    """Two nodes, whose queues are not where their clients are."""
    with queues_elsewhere() as cluster:
        node = cluster[CLIENTS]
        pids = [each.pid for each in cluster.nodes.values()]
        to_etcd = len(pids) * CONNECTIONS_MAX
        yield Processes(node.amqp_port, node.management_port, pids, to_etcd)


@pytest.fixture
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Processes]:
    on_cluster = request.config.getoption("--on-cluster")
    with two_processes() if on_cluster else one_process(tmp_path / "data") as processes:
        yield processes


def churn(broker: Processes, client: Client, operations: int, first: int) -> int:
    """Play ``operations``, in blocks with numbers from ``first`` on; the number of the next. All
    blocks go over ``client``, whose channel stays: what that remembers must go, too."""
    management = Management(broker.http_port)
    number, done = first, 0
    while done < operations:
        data, count = block(number)
        client.send(data)
        client.read_until(BasicQosOk)
        Client(broker.amqp_port).leave()
        Client(broker.amqp_port).drop()
        done += count + 2
        if number % HTTP_EVERY == 0:
            # A hash takes 19 MiB while it is made. That of the new user's password comes after the
            # one of the wrong login: none is under way when the round is over.
            Client(broker.amqp_port, b"wrong").drop()
            done += management.round(number) + 1
        number += 1
    return number


def least(broker: Processes) -> tuple[int, int]:
    """Descriptors and threads, the fewest of looks over a second: a socket whose end the client has
    seen is closed by the broker in a turn after that, and on a busy machine each of twenty looks
    may find one."""
    figures = []
    end_s = time.monotonic() + LOOKING_S
    while time.monotonic() < end_s:
        Client(broker.amqp_port).leave()
        figures.append((broker.descriptors(), broker.threads()))
    descriptors, threads = zip(*figures, strict=True)
    return min(descriptors), min(threads)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_what_comes_and_goes_leaves_nothing_behind(broker: Processes) -> None:
    client = Client(broker.amqp_port)
    client.send(method_frame(1, ChannelOpen()))
    number = churn(broker, client, OPERATIONS // SAMPLES, 0)
    descriptors, threads = least(broker)
    resident = []
    for _ in range(SAMPLES - 1):
        number = churn(broker, client, OPERATIONS // SAMPLES, number)
        resident.append(broker.resident_bytes())
    quarter = SAMPLES // 4
    grown = resident[-1] - statistics.median(resident[-quarter - 2 : -quarter + 1])
    shown = [round(each / 2**20, 1) for each in resident[::3]]
    print(f"{OPERATIONS} operations, RSS in MiB {shown}, last quarter {grown / 2**20:+.2f}")
    assert grown < max(GROWTH_BYTES_MIN, OPERATIONS / 4 * GROWTH_PER_OPERATION), shown
    descriptors_after, threads_after = least(broker)
    assert descriptors_after <= descriptors + broker.connections
    assert threads_after <= threads
