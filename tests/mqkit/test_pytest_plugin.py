"""The pytest plugin, in test projects of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

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
import pika
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

@pytest.mark.mqkit_app("service:app")
def test_that_is_no_coroutine(mqkit_service, mqkit_broker):
    with pika.BlockingConnection(pika.URLParameters(mqkit_broker.url)) as connection:
        connection.channel().basic_publish("", "work", b"paid")
    assert mqkit_broker.queue("done").blocking.one().body == b"PAID"

class TestByTheClock:
    @pytest.fixture
    def mqkit_app_factory(self):
        app = App(topology=loads("queues: {q: {retry: {after: [10s, 1m], park: lot}}, lot: {}}"))
        @app.consumer("q")
        async def fail(body: str) -> None:
            raise ValueError(body)
        return lambda: app

    def test_it(self, mqkit_service, mqkit_broker, mqkit_clock):
        with pika.BlockingConnection(pika.URLParameters(mqkit_broker.url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.basic_publish("", "q", b"x")
        mqkit_clock.blocking.advance("70s")
        assert mqkit_broker.queue("lot").blocking.depth == 1
"""


def project(folder: Path, **files: str) -> Path:
    (folder / "topology.yaml").write_text(TOPOLOGY)
    for name, text in {"conftest": CONFTEST, "service": SERVICE, **files}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


class BrokerUnderTest(Protocol):
    """See tests/conftest.py."""

    url: str
    management_url: str


def places_of(broker: BrokerUnderTest) -> tuple[str, ...]:
    return ("--mqkit-broker", broker.url, "--mqkit-management", broker.management_url)


def run(
    folder: Path, *options: str, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in environment.items() if not name.startswith("PYTEST_")}
    paths = os.pathsep.join(filter(None, (environment.get("PYTHONPATH", ""), str(folder))))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.live
def test_a_project(tmp_path: Path) -> None:
    done = run(project(tmp_path, test_it=TESTS))
    assert "7 passed" in done.stdout, done.stdout


@pytest.mark.live
def test_a_project_on_a_broker_elsewhere(tmp_path: Path, broker: BrokerUnderTest) -> None:
    done = run(project(tmp_path, test_it=TESTS), *places_of(broker))
    assert "6 passed, 1 skipped" in done.stdout, done.stdout


NEEDING = """
import pytest

pytestmark = pytest.mark.anyio

async def test_by_the_clock(mqkit_app, mqkit_clock): ...

def test_by_the_brokers_clock(mqkit_broker):
    mqkit_broker.clock.blocking.advance("1s")

def test_of_faults(mqkit_broker):
    mqkit_broker.faults.block()
"""


@pytest.mark.live
def test_what_only_the_broker_in_the_process_has_is_skipped(
    tmp_path: Path, reference_broker: BrokerUnderTest
) -> None:
    folder = project(tmp_path, test_it=NEEDING)
    done = run(folder, "-rs", *places_of(reference_broker))
    assert "3 skipped" in done.stdout, done.stdout
    assert "a clock that can be moved only with the broker in the test's process" in done.stdout
    assert "faults only with the broker in the test's process, without --mqkit" in done.stdout
    assert "3 passed" in run(folder).stdout


def test_a_missing_extra_is_told_in_a_line(
    tmp_path: Path, without: Callable[..., dict[str, str]]
) -> None:
    folder = project(tmp_path, test_it="def test_it(mqkit_broker): pass")
    done = run(folder, environment=without("argon2"))
    assert "argon2 is not installed; run: pip install 'mqkit[broker]'" in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


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
