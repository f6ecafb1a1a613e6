"""The README's examples, run as they stand there, against a reference broker of their own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
FILE = re.compile(r"^`([\w.]+)`\n\n```(?:yaml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES_OF_A_JOB_MAX = 40
DEADLINE_S = 60


def steps(block: str) -> Iterator[tuple[list[str], str]]:
    """The commands of a console block, each with the output that the README shows."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield shlex.split(command), output


def consoles(first_words: str) -> list[str]:
    return [block for block in CONSOLE.findall(README) if block.startswith(f"$ {first_words}")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The README's files, in a folder of their own."""
    files = dict(FILE.findall(README))
    assert set(files) == {"topology.yaml", "consumer.py", "producer.py", "sink.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where the examples find a broker (an empty one), and the `mqkit` of this installation."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "mqkit_cli", "broker", "run"),
            *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
            *("--data-dir", str(tmp_path / "broker")),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    places = dict(part.split("=", 1) for part in process.stdout.readline().split()[1:])
    yield {
        **os.environ,
        "MQKIT_URL": f"amqp://guest:guest@{places['amqp']}/",
        "MQKIT_MANAGEMENT_URL": f"http://{places['http']}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "COLUMNS": "100",
    }
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0


def run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode in {0, 2}, done.stderr
    return done.returncode, done.stdout


def run_as_shown(block: str, folder: Path, environment: dict[str, str]) -> None:
    for command, shown in steps(block):
        _, printed = run(command, folder, environment)
        assert [line.rstrip() for line in printed.splitlines()] == [
            line.rstrip() for line in shown.splitlines()
        ], shlex.join(command)


def test_the_examples_are_short() -> None:
    for name, text in FILE.findall(README):
        assert text.count("\n") <= LINES_OF_A_JOB_MAX, name


@pytest.mark.slow
def test_the_developer_and_the_operator(folder: Path, environment: dict[str, str]) -> None:
    (plan,) = consoles("mqkit topology plan")
    run_as_shown(plan, folder, environment)
    consumer = subprocess.Popen(
        [sys.executable, "consumer.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert consumer.stdout is not None
    try:
        _, printed = run([sys.executable, "producer.py"], folder, environment)
        assert printed.startswith("the broker has it: ")
        assert printed.endswith("3 of 3 confirmed\n")
        lines = {consumer.stdout.readline() for _ in range(2)}
        assert lines == {
            "DTW to LAS: 66 minutes late\n",
            "ORD to LAS: 66 minutes late\n",
        }
    finally:
        consumer.send_signal(signal.SIGTERM)
        assert consumer.wait(DEADLINE_S) == 0
    (repair,) = consoles("mqkit dlq")
    run_as_shown(repair, folder, environment)


@pytest.mark.slow
@pytest.mark.spark
def test_the_data_engineer(folder: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("no Java on this machine")
    run(["mqkit", "topology", "apply", "-f", "topology.yaml"], folder, environment)
    _, printed = run([sys.executable, "sink.py"], folder, environment)
    assert printed.splitlines()[-1] == "1000 rows, 1000 confirmed"
    queue = httpx.get(
        f"{environment['MQKIT_MANAGEMENT_URL']}/api/queues/%2F/delays", auth=("guest", "guest")
    ).json()
    assert queue["messages"] == 2000
