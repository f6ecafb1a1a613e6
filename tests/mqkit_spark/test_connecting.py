"""mqkit_spark.connecting: the first host of a list that can be reached, TLS by the URL."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mqkit.errors import ConnectionRefused, DeadlineExceeded, Unreachable
from mqkit.testing.certificates import Authority
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.native.exact import ExactProperties
from mqkit_spark.connecting import connect, connect_exact
from mqkit_spark.options.connection import ConnectionOptions

STOP_TIMEOUT_S = 15


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nobody listens, and nobody else will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port at which connections are taken, and nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_second_host_is_tried_where_the_first_is_down(
    reference_broker: Any, closed_port: int, silent_port: int
) -> None:
    for port in (closed_port, silent_port):
        urls = f"amqp://127.0.0.1:{port}/,{reference_broker.url}"
        connection = connect(ConnectionOptions(url=urls, connect_timeout_s=2), name="test")
        assert connection.is_open
        connection.close()


def test_the_last_host_s_error_is_raised(closed_port: int, silent_port: int) -> None:
    down, silent = (f"amqp://127.0.0.1:{port}/" for port in (closed_port, silent_port))
    with pytest.raises(Unreachable):
        connect(ConnectionOptions(url=f"{silent},{down}", connect_timeout_s=0.5), name="test")
    with pytest.raises(DeadlineExceeded):
        connect(ConnectionOptions(url=f"{down},{silent}", connect_timeout_s=0.5), name="test")


def test_a_refused_login_is_refused_by_all(reference_broker: Any) -> None:
    wrong = reference_broker.url.replace("guest:guest", "guest:hunter2")
    options = ConnectionOptions(url=f"{wrong},{reference_broker.url}", connect_timeout_s=20)
    with pytest.raises(ConnectionRefused) as error:
        connect(options, name="test")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("exact", [False, True])
def test_exact_connections_keep_the_types_of_headers(reference_broker: Any, exact: bool) -> None:
    from mqkit.declaration import Queue
    from mqkit.message import Message, Properties
    from mqkit.wire import SizedInt

    options = ConnectionOptions(url=reference_broker.url)
    connection = (connect_exact if exact else connect)(options, name="test")
    channel = connection.channel(confirms=True)
    name = channel.declare_queue(Queue("", exclusive=True)).name
    message = Message("", name, b"", Properties(headers={"n": SizedInt("b", 5)}))
    (outcome,) = channel.publish_many([message])
    assert outcome.result(20)
    delivery = channel.get(name)
    assert delivery is not None
    assert isinstance(delivery.properties, ExactProperties) is exact
    assert (getattr(delivery.headers["n"], "tag", None) == "b") is exact
    connection.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls_port(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    files = authority.issue("server", "localhost", "127.0.0.1")
    free = "127.0.0.1:0"
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run", "--data-dir"]
    command += [str(tmp_path_factory.mktemp("data")), "--listen", free, "--http", free]
    command += ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
    process = subprocess.Popen([*command, "--tls-listen", free], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        places = dict(part.split("=", 1) for part in process.stdout.readline().split()[1:])
        yield int(places["amqps"].rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)


@pytest.mark.parametrize("transport", BlockingChoice)
def test_tls_by_the_parameters_of_the_url(
    transport: BlockingChoice, tls_port: int, authority: Authority, tmp_path: Path
) -> None:
    place = f"amqps://guest:guest@localhost:{tls_port}/?cacertfile="
    trusted = f"{place}{quote(str(authority.path), safe='')}"
    options = ConnectionOptions(url=trusted, transport=transport)
    connection = connect(options, name="test")
    assert connection.channel(confirms=True).is_open
    connection.close()
    stranger = Authority(tmp_path, "stranger")
    untrusted = f"{place}{quote(str(stranger.path), safe='')}"
    with pytest.raises(Unreachable, match="certificate"):
        connect(ConnectionOptions(url=untrusted, transport=transport), name="test")
