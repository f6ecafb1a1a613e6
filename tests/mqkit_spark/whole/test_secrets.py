"""The broker's password is in nothing that Spark or mqkit write down: log, plans, errors, event
log, the pages of the UI and its REST interface.

``jobs`` of secrets_program.py is where a new kind of job is added.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mqkit.testing.servers.free_ports import free_ports

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

PROGRAM = Path(__file__).with_name("secrets_program.py")
SECRET = "hunter2-of-the-spy"
VARIABLE = "MQKIT_TEST_SECRET_URL"
QUEUE = "test-spark-secrets"


def put(broker: Any, path: str, body: dict[str, Any]) -> None:
    request = urllib.request.Request(
        broker.management_url + path, json.dumps(body).encode(), method="PUT"
    )
    login = base64.b64encode(b"guest:guest").decode()
    request.add_header("authorization", f"Basic {login}")
    request.add_header("content-type", "application/json")
    urllib.request.urlopen(request).close()


@pytest.fixture
def spy_url(reference_broker: Any) -> str:
    """A user with a password that nothing else has, and a queue."""
    put(reference_broker, "/api/users/spy", {"password": SECRET, "tags": ""})
    rights = {"configure": ".*", "write": ".*", "read": ".*"}
    put(reference_broker, "/api/permissions/%2F/spy", rights)
    put(reference_broker, f"/api/queues/%2F/{QUEUE}", {})
    url: str = reference_broker.url
    return url.replace("guest:guest", f"spy:{SECRET}")


def run(kind: str, option: str, value: str, url: str, folder: Path) -> str:
    done = subprocess.run(
        [
            *(sys.executable, PROGRAM, kind, option, value, QUEUE, folder),
            *(str(free_ports(1)[0]), VARIABLE, url),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "SPARK_TESTING": "1",  # Connect listens at a free port
            VARIABLE: url,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        },
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.mark.parametrize(("kind", "option"), [("classic", "urlFile"), ("connect", "urlEnv")])
def test_no_place_shows_the_password(
    kind: str, option: str, spy_url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine (Spark needs 17 or later)")
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if kind == "connect" and find_spec("grpc_status") is None:
        pytest.skip("Spark Connect is not installed (pip install 'pyspark[connect]')")
    file = tmp_path_factory.mktemp("secret") / "broker.url"
    file.write_text(spy_url)
    value = {"urlFile": str(file), "urlEnv": VARIABLE}[option]
    output = run(kind, option, value, spy_url, tmp_path)

    # All of it was done, and the places are those in which options are looked for.
    done, failed = outcomes(output)
    streams = {"start", "start, for each batch"}
    assert done == {"save", "publish", "load", "load, plans", "view", *streams}, output
    assert output.count("20 rows are back") == 2
    # Spark 4.3 hands a table's options over when it is made, and none when it is read.
    assert failed == {"save, a task fails", "save, refused", "load, no queue", "table"} | {
        *("start, a task fails", "start, refused")
    }
    written = {path: path.read_text(errors="replace") for path in files(tmp_path)}
    everything = "\n".join(written.values())
    for sign in ("SparkListenerEnvironmentUpdate", "/environment\n", "planDescription", "amqp"):
        assert sign in everything

    assert SECRET not in output
    assert [str(path) for path, text in written.items() if SECRET in text] == []


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def outcomes(output: str) -> tuple[set[str], set[str]]:
    """The names of what was done, and of what failed."""
    parts = [part.split("\n", 1) for part in ("\n" + output).split("\n#### ")[1:]]
    failed = {name for name, text in parts if "\nfailed: " in f"\n{text}"}
    return {name for name, _ in parts} - failed, failed
