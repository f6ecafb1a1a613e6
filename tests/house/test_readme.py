"""The README's examples, run as they stand there, against a reference broker of their own."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
FILE = re.compile(r"^`([\w.]+)`\n\n```(?:yaml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES_OF_A_JOB_MAX = 40
DEADLINE_S = 110


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


def run_as_shown(block: str, run: Callable[..., str]) -> None:
    for command, shown in steps(block):
        run(command, shown)


def test_the_examples_are_short() -> None:
    for name, text in FILE.findall(README):
        assert text.count("\n") <= LINES_OF_A_JOB_MAX, name


@pytest.mark.slow
def test_the_developer_and_the_operator(
    folder: Path, environment: dict[str, str], run: Callable[..., str]
) -> None:
    (plan,) = consoles("mqkit topology plan")
    run_as_shown(plan, run)
    consumer = subprocess.Popen(
        [sys.executable, "consumer.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert consumer.stdout is not None
    try:
        printed = run([sys.executable, "producer.py"])
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
    run_as_shown(repair, run)


@pytest.mark.slow
def test_the_notification_service(
    tmp_path: Path, environment: dict[str, str], run: Callable[..., str]
) -> None:
    """The commands of a clone's shell, but for those that only choose folder and broker."""
    (block,) = consoles(". .venv/bin/activate")
    shown = [(command, output) for command, output in steps(block)]
    choosing, (apply, *_), (service, _), *rest = shown[:3], *shown[3:]
    assert [command[0] for command, _ in choosing] == [".", "export", "cd"]
    assert choosing[1][0][2] == "UNIT=ms"
    environment["UNIT"] = "ms"
    shutil.copytree(ROOT / choosing[2][0][1], tmp_path, dirs_exist_ok=True)
    run(apply)
    assert service == ["python", "service.py", "&"]
    process = subprocess.Popen(
        [sys.executable, *service[1:-1]],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        publish, ls, replay = rest
        run(*publish)
        line = process.stdout.readline()
        assert line.startswith("to on-call: email-dlq:"), line
        run(*ls)
        run(*replay)
        while "sent 'hello' to ann@example.org" not in line:
            line = process.stdout.readline()
            assert line, "the service has ended"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0


@pytest.mark.slow
@pytest.mark.spark
def test_the_data_engineer(
    folder: Path, environment: dict[str, str], run: Callable[..., str]
) -> None:
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("no Java on this machine")
    run(["mqkit", "topology", "apply", "-f", "topology.yaml"])
    printed = run([sys.executable, "sink.py"])
    assert printed.splitlines()[-1] == "1000 rows, 1000 confirmed"
    queue = httpx.get(
        f"{environment['MQKIT_MANAGEMENT_URL']}/api/queues/%2F/delays", auth=("guest", "guest")
    ).json()
    assert queue["messages"] == 2000
