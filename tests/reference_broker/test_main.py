"""`python -m reference_broker`: a broker with `mqkit[broker]` alone, without typer and rich."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pika
import pytest

from reference_broker.__main__ import main

pytestmark = pytest.mark.live

STOP_S = 10
LONG_TURN = re.compile(r"a turn of the loop took \d+ ms, mostly for .*\n")
"""Said of a slow machine, at any time: no test asserts timings."""
READY = re.compile(r"ready amqp=127\.0\.0\.1:(\d+) http=127\.0\.0\.1:(\d+)\n")
FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
COMMAND = (sys.executable, "-m", "reference_broker")

Without = Callable[..., dict[str, str]]
Process = subprocess.Popen[str]
Start = Callable[..., tuple[Process, int, int]]


@pytest.fixture
def start(without: Without) -> Iterator[Start]:
    """Starts a broker with these arguments; gives the process and its two ports."""
    processes: list[Process] = []

    def run(*arguments: str) -> tuple[Process, int, int]:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=without("typer", "rich", "mqkit_cli", "aio_pika", "pika"),
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ready_means_ready_and_a_signal_ends_it_cleanly(start: Start, number: int) -> None:
    process, amqp, http = start(*FREE)
    pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", amqp)).close()
    overview = httpx.get(
        f"http://127.0.0.1:{http}/api/overview", auth=("guest", "guest"), trust_env=False
    )
    assert overview.status_code == 200
    process.send_signal(number)
    rest, errors = process.communicate(timeout=STOP_S)
    assert (process.returncode, rest) == (0, "")
    said = LONG_TURN.sub("", errors)
    assert said == "reference_broker: no --data-dir: messages are kept in memory only\n"


def test_the_file_is_read_and_an_option_wins_over_it(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text(
        "listen: 127.0.0.1:1\nhttp: 127.0.0.1:0\ndata_dir: data\n"
        "users:\n  app: {password: secret}\n"
    )
    process, amqp, _ = start("--config", str(file), "--listen", "127.0.0.1:0")
    login = pika.PlainCredentials("app", "secret")
    pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", amqp, credentials=login)).close()
    process.terminate()
    rest, errors = process.communicate(timeout=STOP_S)
    assert (rest, LONG_TURN.sub("", errors)) == ("", "")
    assert (tmp_path / "data").is_dir()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*FREE, "--data-dir", "/etc/passwd"], "choose a folder that can be written"),
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--config", "nothing.yaml"], "nothing.yaml: can't be read"),
        (["--config", "/"], "can't be read: Is a directory"),
        (["--nonsense"], "unrecognized arguments: --nonsense (see: "),
        (["--tls-cert", "nothing.pem", "--tls-key", "k.pem", *FREE, "--https", "127.0.0.1:0"],
         "nothing.pem"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_keeps_it_from_starting_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--data-dir" not in words:
        words = [*words, "--data-dir", str(tmp_path / "data")]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("reference_broker: ")
    assert said in err
    assert err.count("\n") == 1


def test_an_address_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["--listen", address, "--data-dir", str(tmp_path / "data")]) == 1
    assert f"can't listen on {address}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("missing", "code", "said"),
    [
        ("uvicorn", 1, "reference_broker: uvicorn is not installed; run: pip install"
         " 'mqkit[broker]'\n"),
        # Ours: a defect, whose traceback is wanted.
        ("reference_broker.service.options", 1, "Traceback"),
    ],
)  # fmt: skip
def test_what_is_not_installed_is_said_in_a_line(
    without: Without, missing: str, code: int, said: str
) -> None:
    program = "import runpy, sys\n"
    if "." in missing:
        program += f"sys.modules[{missing!r}] = None\n"
    program += (
        f"sys.argv = ['', *{list(FREE)}]\nrunpy.run_module('reference_broker', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=without(missing),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
