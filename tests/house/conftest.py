"""Fixtures for the examples of README and docs: a broker, and a shell that finds it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

DEADLINE_S = 60
TOOK = re.compile(r" in \d+\.\d+s$")

PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""With the `mqkit` of this installation."""

Run = Callable[..., str]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment variables that name an empty broker, and the `mqkit` of this installation."""
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
        "PATH": PATH,
        "PYSPARK_PYTHON": sys.executable,
        "COLUMNS": "100",
    }
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run a command as a shell would, and compare what it printed with what is ``shown``; with
    ``again`` until it prints that, or :data:`DEADLINE_S` are over."""
    return running(tmp_path, environment)


@pytest.fixture
def run_on_rabbitmq(tmp_path: Path, rabbitmq_broker: Any) -> Iterator[Run]:
    """As ``run``, in a virtual host of RabbitMQ's that is the page's alone."""
    name = f"page-{uuid4().hex}"
    api = rabbitmq_broker.management_url
    with httpx.Client(base_url=f"{api}/api", auth=("guest", "guest"), timeout=DEADLINE_S) as client:
        client.put(f"/vhosts/{name}").raise_for_status()
        all_rights = {"configure": ".*", "write": ".*", "read": ".*"}
        client.put(f"/permissions/{name}/guest", json=all_rights).raise_for_status()
        try:
            url = f"{rabbitmq_broker.url.rstrip('/')}/{name}"
            variables = {"MQKIT_URL": url, "PATH": PATH, "COLUMNS": "100"}
            yield running(tmp_path, {**os.environ, **variables})
        finally:
            client.delete(f"/vhosts/{name}").raise_for_status()


def running(tmp_path: Path, environment: dict[str, str]) -> Run:
    def run(command: list[str], shown: str | None = None, *, again: bool = False) -> str:
        ends = time.monotonic() + DEADLINE_S
        printed = once(command)
        while again and lines(printed) != lines(shown or "") and time.monotonic() < ends:
            printed = once(command)
        if shown is not None:
            assert lines(printed) == lines(shown), shlex.join(command)
        return printed

    def once(command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode in {0, 2}, done.stderr
        return done.stdout

    return run


def lines(text: str) -> list[str]:
    """The lines that are compared: how long pytest took is not."""
    return [TOOK.sub(" in a moment", line.rstrip()) for line in text.splitlines()]


@pytest.fixture
def start(
    tmp_path: Path, environment: dict[str, str]
) -> Iterator[Callable[[list[str]], subprocess.Popen[str]]]:
    """Start a program that runs beside the test; one that is left at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(command: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
