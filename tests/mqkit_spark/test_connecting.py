"""mqkit_spark.connecting: the first host of a list that can be reached, TLS by the URL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from mqkit.errors import ConnectionRefused, Unreachable
from mqkit.testing.certificates import Authority
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit_spark.connecting import connect
from mqkit_spark.options.connection import ConnectionOptions

NOBODY = "amqp://guest:guest@127.0.0.1:1/"
STOP_TIMEOUT_S = 15


def test_a_host_that_is_away_is_passed_over(broker_url: str) -> None:
    options = ConnectionOptions(url=f"{NOBODY}, {broker_url}", connect_timeout_s=10)
    connection = connect(options, name="test")
    assert connection.is_open
    connection.close()


def test_the_last_hosts_error_is_told_and_no_password(broker_url: str) -> None:
    wrong = broker_url.replace("guest:guest", "guest:hunter2")
    with pytest.raises(ConnectionRefused, match="403") as refused:
        connect(ConnectionOptions(url=f"{NOBODY},{wrong}"), name="test")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        connect(ConnectionOptions(url=f"amqp://127.0.0.1:2/,{NOBODY}"), name="test")


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
