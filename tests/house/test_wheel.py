"""The wheel in an environment of its own, and a user's project with the pytest plugin there."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 100

pytestmark = pytest.mark.live

CONFTEST = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
def mqkit_topology():
    from mqkit.topology import loads
    return loads("queues:\\n  work: {retry: {after: [10s, 1m], park: work.parked}}\\n")
"""
TESTS = """
import sys
import mqkit
import pytest

pytestmark = pytest.mark.anyio

def test_it_is_the_wheel():
    assert mqkit.__file__.startswith(sys.prefix)

@pytest.mark.parametrize("number", range(5))
async def test_of_an_app(mqkit_app, mqkit_broker, number):
    await mqkit_app.publish("", "work", "x")
    assert (await mqkit_broker.queue("work").one()).body == b"x"

async def test_by_the_clock(mqkit_app, mqkit_broker, mqkit_clock):
    @mqkit_app.consumer("work")
    async def fail(body: str):
        raise ValueError(body)

    await mqkit_app.publish("", "work", "x")
    await mqkit_clock.advance("70s")
    assert await mqkit_broker.queue("work.parked").depth() == 1

async def test_of_faults(mqkit_app, mqkit_broker):
    mqkit_broker.faults.nack()
    assert not await mqkit_app.publish("", "work", "x")
"""
HANGING = """
import os
from threading import Event
from urllib.parse import urlsplit

def test_that_never_ends(mqkit_broker):
    with open(os.environ["TOLD"], "w") as told:
        told.write(f"{os.getpid()} {urlsplit(mqkit_broker.url).port}")
    Event().wait()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which mqkit is what the wheel has. What the wheel needs is that of this
    environment, which is not asked for mqkit: a path in a ``.pth`` brings no ``.pth`` of its own.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(venv)}))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    return venv / "bin" / "python"


def pytest_of(python: Path, folder: Path, name: str, text: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that run a project's tests, whose temporary folder is the
    project's own."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / name).write_text(text)
    (folder / "tmp").mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", name]
    return command, kept | {"TMPDIR": str(folder / "tmp"), "TOLD": str(folder / "told")}


def test_the_plugin_works_in_a_users_project(python: Path, tmp_path: Path) -> None:
    command, environment = pytest_of(python, tmp_path, "test_it.py", TESTS)
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert "8 passed" in done.stdout, done.stdout


def test_a_run_that_is_killed_leaves_nothing(python: Path, tmp_path: Path) -> None:
    command, environment = pytest_of(python, tmp_path, "test_it.py", HANGING)
    os.mkfifo(tmp_path / "told")
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        with (tmp_path / "told").open() as told:
            worker, port = map(int, told.read().split())
        assert listens(port)
        ending = os.pidfd_open(worker)
        process.kill()
        process.wait(DEADLINE_S)
        ended, _, _ = select.select([ending], [], [], DEADLINE_S)
        os.close(ending)
        assert ended == [ending], "the worker goes on"
        assert not listens(port)
        left = [path.name for path in (tmp_path / "tmp").iterdir()]
        assert [name for name in left if not name.startswith("pytest-of-")] == []
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait(DEADLINE_S)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
