"""The pytest plugin, in test projects of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEADLINE_S = 100

CONFTEST = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""
SERVICE = """
import mqkit

app = mqkit.App("amqp://127.0.0.1:1/", topology="topology.yaml")

@app.consumer("work")
async def handle(body: str) -> None:
    await app.publish("", "done", body.upper())
"""
TOPOLOGY = "queues:\n  work: {}\n  done: {}\n"
TESTS = """
import pytest
from mqkit import App
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

@pytest.mark.mqkit_app("service:app")
@pytest.mark.parametrize("number", range(3))
async def test_of_the_service(mqkit_app, mqkit_broker, number):
    await mqkit_app.publish("", "work", "paid")
    assert (await mqkit_broker.queue("done").one()).body == b"PAID"

class TestOfATopology:
    @pytest.fixture
    def mqkit_topology(self):
        return loads("queues:\\n  q: {}\\n")

    async def test_it(self, mqkit_app, mqkit_broker):
        assert await mqkit_app.publish("", "q", "x")
        assert await mqkit_broker.queue("q").depth() == 1

class TestOfAFactory:
    @pytest.fixture
    def mqkit_app_factory(self):
        return lambda: App(topology=loads("queues:\\n  r: {}\\n"))

    async def test_it(self, mqkit_app, mqkit_broker):
        assert await mqkit_broker.queue("r").depth() == 0

def test_that_is_no_coroutine(mqkit_broker):
    assert mqkit_broker.queue("q").blocking.all() == []
"""


def project(folder: Path, **files: str) -> Path:
    (folder / "topology.yaml").write_text(TOPOLOGY)
    for name, text in {"conftest": CONFTEST, "service": SERVICE, **files}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.live
def test_a_project(tmp_path: Path) -> None:
    done = run(project(tmp_path, test_it=TESTS))
    assert "6 passed" in done.stdout, done.stdout


@pytest.mark.live
def test_a_project_in_parallel(tmp_path: Path) -> None:
    done = run(project(tmp_path, test_it=TESTS), "-n", "2")
    assert "6 passed" in done.stdout, done.stdout


@pytest.mark.live
def test_a_project_on_a_broker_elsewhere(tmp_path: Path, broker: object) -> None:
    management = str(getattr(broker, "management_url"))  # noqa: B009
    if "@" not in management:
        management = management.replace("://", "://guest:guest@", 1)
    places = ("--mqkit-broker", str(getattr(broker, "url")), "--mqkit-management", management)  # noqa: B009
    done = run(project(tmp_path, test_it=TESTS), *places)
    assert "6 passed" in done.stdout, done.stdout


@pytest.mark.live
def test_a_broker_that_can_not_be_used_is_told_in_a_line(tmp_path: Path, unused_port: int) -> None:
    url = f"amqp://u:secret@127.0.0.1:{unused_port}/"
    management = f"http://u:secret@127.0.0.1:{unused_port}"
    test = "def test_it(mqkit_broker): pass"
    done = run(
        project(tmp_path, test_it=test), "--mqkit-broker", url, "--mqkit-management", management
    )
    assert "1 error" in done.stdout, done.stdout
    assert "does not answer (ConnectError): say where it is (--mqkit-management=URL)" in done.stdout
    assert "secret" not in done.stdout


LIGHT = """
import sys

def test_that_uses_no_fixture():
    mine = {"mqkit", "mqkit.lazy_names", "mqkit.pytest_plugin"}
    ours = {"mqkit", "reference_broker"}
    assert {name for name in sys.modules if name.partition(".")[0] in ours} == mine
"""


def test_nothing_is_loaded_before_a_fixture_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(LIGHT)
    done = run(tmp_path)
    assert "1 passed" in done.stdout, done.stdout


def test_the_marker_is_known(tmp_path: Path) -> None:
    done = run(tmp_path, "--markers")
    assert (
        '@pytest.mark.mqkit_app(place): the app of the fixture mqkit_app, as "module:name"'
        in done.stdout
    )
