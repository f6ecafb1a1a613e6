"""`mqkit broker run` as a process: the ready line, signals, and what keeps it from starting."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pika
import pytest
import typer.main
from pika.exceptions import AMQPConnectionError, ChannelClosedByBroker

from mqkit.wire import PROTOCOL_HEADER, method_frame
from mqkit.wire.methods import (
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStartOk,
    ConnectionTuneOk,
)
from mqkit_cli.app import app
from reference_broker.core.base.peer import Ends
from reference_broker.service.command_line import parse, parser
from reference_broker.service.options import BrokerOptions
from reference_broker.testing.proxy_header import relayed

pytestmark = pytest.mark.slow
"""Each starts processes and waits for their ends."""

STOP_S = 10
READY = re.compile(r"ready amqp=127\.0\.0\.1:(\d+) http=127\.0\.0\.1:(\d+)\n")
FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")

Process: TypeAlias = subprocess.Popen[str]
Start: TypeAlias = Callable[..., tuple[Process, int, int]]


@pytest.fixture
def start(clean_environment: dict[str, str]) -> Iterator[Start]:
    """Starts a broker with these arguments; gives the process and its two ports."""
    processes: list[Process] = []

    def run(*arguments: str) -> tuple[Process, int, int]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqkit_cli", "broker", "run", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment,
        )
        processes.append(process)
        assert process.stdout is not None
        ready = READY.fullmatch(process.stdout.readline())
        assert ready is not None
        return process, int(ready[1]), int(ready[2])

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def connected(port: int, user: str = "guest", password: str = "guest") -> pika.BlockingConnection:
    login = pika.PlainCredentials(user, password)
    return pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", port, credentials=login, heartbeat=0)
    )


def test_both_command_lines_have_the_same_options() -> None:
    """This one, which is typer's, and that of `python -m reference_broker`, which is argparse's."""
    tree: Any = typer.main.get_command(app)
    command = tree.commands["broker"].commands["run"]
    shown = [each for each in command.params if each.name != "help"]
    other: list[Any] = [each for each in parser()._actions if each.dest != "help"]
    assert [each.name for each in shown] == [each.dest for each in other]
    for mine, others in zip(shown, other, strict=True):
        assert mine.opts == others.option_strings
        assert (mine.help, mine.metavar) == (others.help.replace("%%", "%"), others.metavar)
        assert (mine.default, mine.required) == (others.default, others.required)
        words = [mine.opts[0], (others.choices or ["7"])[-1]]
        typed = BrokerOptions(**command.make_context("run", list(words)).params)
        assert typed == parse(words) != BrokerOptions()
        assert type(getattr(typed, mine.name)) is type(getattr(parse(words), mine.name))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ready_means_ready_and_a_signal_ends_it_cleanly(start: Start, number: int) -> None:
    process, amqp, http = start(*FREE)
    open_one = connected(amqp)
    overview = httpx.get(
        f"http://127.0.0.1:{http}/api/overview", auth=("guest", "guest"), trust_env=False
    )
    assert overview.status_code == 200
    process.send_signal(number)
    rest, errors = process.communicate(timeout=STOP_S)
    assert process.returncode == 0
    assert rest == ""  # one line on stdout, and no more
    assert "kept in memory only" in errors
    with pytest.raises(AMQPConnectionError):
        open_one.channel()


def test_what_is_in_the_data_folder_is_there_again(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    process, amqp, _ = start(*FREE, "--data-dir", str(folder))
    with connected(amqp) as connection:
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        channel.basic_publish("", "q", b"kept", pika.BasicProperties(delivery_mode=2))
    process.send_signal(signal.SIGTERM)
    assert process.wait(STOP_S) == 0
    _, amqp, _ = start(*FREE, "--data-dir", str(folder))
    with connected(amqp) as connection:
        _, _, body = connection.channel().basic_get("q", auto_ack=True)
        assert body == b"kept"


def test_the_file_gives_users_and_an_option_wins_over_it(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("listen: 127.0.0.1:1\nhttp: 127.0.0.1:0\nusers:\n  app: {password: secret}\n")
    _, amqp, _ = start("--config", str(file), "--listen", "127.0.0.1:0")
    connected(amqp, "app", "secret").close()
    with pytest.raises(AMQPConnectionError):
        connected(amqp)


def test_a_client_behind_a_proxy_is_listed_by_what_is_claimed(
    start: Start, mqkit: Any, tmp_path: Path
) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("users:\n  app: {password: secret, tags: [administrator]}\n")
    proxies = ("--proxy-protocol", "v2", "--proxy-from", "127.0.0.1,10.0.0.0/8")
    _, amqp, http = start(*FREE, *proxies, "--config", str(file))
    claimed = Ends("198.51.100.7", 40_000, "203.0.113.1", 5672)
    with socket.create_connection(("127.0.0.1", amqp), STOP_S) as client:
        client.sendall(relayed(claimed) + PROTOCOL_HEADER)
        assert client.recv(65_536)
        start_ok = ConnectionStartOk({}, "PLAIN", b"\0app\0secret")
        said = (start_ok, ConnectionTuneOk(9, 131_072, 0), ConnectionOpen("/"))
        client.sendall(b"".join(method_frame(0, each) for each in said))
        answer = b""
        while method_frame(0, ConnectionOpenOk()) not in answer:
            octets = client.recv(65_536)
            assert octets, answer
            answer += octets
        listed = mqkit(
            "ctl", "list_connections", "user", "peer_host", "peer_port", "host", "port",
            MQKIT_MANAGEMENT_URL=f"http://127.0.0.1:{http}", MQKIT_URL="amqp://app:secret@127.0.0.1",
        )  # fmt: skip
    assert "app\t198.51.100.7\t40000\t203.0.113.1\t5672" in listed.stdout, listed


def test_metrics_have_a_port_of_their_own_where_one_is_given(
    clean_environment: dict[str, str],
) -> None:
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run", *FREE]
    process = subprocess.Popen(
        [*command, "--prometheus", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean_environment,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rpartition(" prometheus=")[2]
        answer = httpx.get(f"http://{address}/metrics", trust_env=False)
        assert "rabbitmq_identity_info{" in answer.text
        taken = subprocess.run(
            [*command, "--prometheus", address],
            capture_output=True,
            text=True,
            env=clean_environment,
            timeout=6 * STOP_S,
            check=False,
        )
        assert taken.returncode == 1
        assert f"can't listen on {address}" in taken.stderr
        assert "with --prometheus" in taken.stderr.replace("\n", " ")
    finally:
        process.terminate()
        process.communicate(timeout=STOP_S)


def test_less_free_disk_than_the_limit_is_an_alarm(start: Start, tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    _, amqp, http = start(*FREE, "--data-dir", folder, "--disk-free-limit", "900TB")
    node = httpx.get(
        f"http://127.0.0.1:{http}/api/nodes", auth=("guest", "guest"), trust_env=False
    ).json()[0]
    assert node["disk_free_limit"] == 900 * 10**12 > node["disk_free"]
    assert node["disk_free_alarm"] is True
    connection = connected(amqp)  # Not closed: a blocked connection isn't read any more.
    blocked: list[str] = []
    connection.add_on_connection_blocked_callback(
        lambda _, frame: blocked.append(frame.method.reason)
    )
    connection.channel().basic_publish("", "q", b"")
    while not blocked:
        connection.process_data_events(STOP_S)
    assert blocked == ["low on disk"]


def test_a_message_may_be_as_large_as_the_option_says(start: Start, tmp_path: Path) -> None:
    """...and no larger, whatever the file says."""
    file = tmp_path / "broker.yaml"
    file.write_text("limits: {message_size_max: 10}\n")
    _, amqp, _ = start(*FREE, "--config", str(file), "--message-size-max", "2kiB")
    with connected(amqp) as connection:
        channel = connection.channel()
        channel.queue_declare("q")
        channel.confirm_delivery()
        channel.basic_publish("", "q", bytes(2048))
        with pytest.raises(ChannelClosedByBroker, match="2049 is larger than configured max"):
            channel.basic_publish("", "q", bytes(2049))


def test_a_data_folder_in_use(start: Start, mqkit: Any, tmp_path: Path) -> None:
    start(*FREE, "--data-dir", str(tmp_path / "data"))
    answer = mqkit("broker", "run", *FREE, "--data-dir", str(tmp_path / "data"))
    assert_refused(answer, "another broker uses the data folder")


@pytest.mark.parametrize("option", ["--listen", "--http"])
def test_an_address_in_use(mqkit: Any, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        other = "--http" if option == "--listen" else "--listen"
        answer = mqkit("broker", "run", option, address, other, "127.0.0.1:0", "--data-dir", "data")
    assert_refused(answer, f"can't listen on {address}: address already in use".lower())
    assert option in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--listen", "nowhere"], "host:port"),
        (["--listen", "127.0.0.1:70000"], "65535"),
        (["--listen", "192.0.2.1:0", "--http", "127.0.0.1:0"], "can't listen on 192.0.2.1:0"),
        ([*FREE, "--data-dir", "/proc/nothing"], "--data-dir"),
        ([*FREE, "--data-dir", "/etc/passwd"], "--data-dir"),
        (["--data-dir", ""], "--data-dir is empty"),
        (["--disk-free-limit", "lots"], "such as 50000000, 50mb or 1gib"),
        (["--config", "nothing.yaml"], "nothing.yaml: can't be read"),
        (["--message-size-max", "129MiB"], "can be allowed is 128 mib"),
        (["--message-size-max", "big"], "not a number of bytes"),
        (["--proxy-protocol", "v2"], "add --proxy-from cidr,..."),
        (["--proxy-from", "10.0.0.0/8"], "add --proxy-protocol v2"),
        (["--proxy-protocol", "v2", "--proxy-from", "10.0.0.1/8"], "10.0.0.0/8 is"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_keeps_it_from_starting(mqkit: Any, arguments: list[str], said: str) -> None:
    if "--data-dir" not in arguments:
        arguments = [*arguments, "--data-dir", "data"]
    assert_refused(mqkit("broker", "run", *arguments), said)


def assert_refused(answer: Any, said: str) -> None:
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert said in answer.stderr.lower()
    assert answer.stderr.count("\n") == 1
