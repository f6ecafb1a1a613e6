"""One run of one suite against one broker, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from interop.brokers import Broker
from interop.suites import without_docker
from interop.suites.catalog import Suite
from interop.suites.verdict import Result
from mqkit.testing.servers.free_ports import free_ports

TEST_TIMEOUT_S = 120
SUITE_TIMEOUT_S = 1800
LOG_TAIL_CHARACTERS = 2000


class SuiteFailed(Exception):
    """The suite did not come to an end; the message has the end of its output."""


def run_suite(
    suite: Suite, sources: Path, python: Path, broker: Broker, only: Sequence[str] = ()
) -> dict[str, Result]:
    """Node id to result, of the whole suite or of the tests named in ``only``.

    Raises :exc:`SuiteFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="mqkit-interop-") as folder:
        results = Path(folder) / "results.json"
        log = Path(folder) / "output.txt"
        command = [
            *(str(python), "-m", "pytest", "-q", "-p", Path(without_docker.__file__).stem),
            *("--timeout", str(TEST_TIMEOUT_S), "-p", "no:cacheprovider", *suite.options),
            *(only or suite.tests),
        ]
        with log.open("wb") as output:
            try:
                subprocess.run(
                    command,
                    cwd=sources,
                    env=_environment(broker, results),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=SUITE_TIMEOUT_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise SuiteFailed(f"{suite.name}: no end after {SUITE_TIMEOUT_S} s") from None
        if not results.exists():
            raise SuiteFailed(f"{suite.name}: {log.read_text()[-LOG_TAIL_CHARACTERS:]}")
        return {name: Result(*result) for name, result in json.loads(results.read_text()).items()}


def _environment(broker: Broker, results: Path) -> dict[str, str]:
    tls_port = str(_closed_port())
    endpoint = broker.endpoint
    user, password = endpoint.credentials.username, endpoint.credentials.password
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", ""),
        "PYTHONPATH": str(Path(without_docker.__file__).parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "INTEROP_HOST": endpoint.host,
        "INTEROP_AMQP_PORT": str(endpoint.port),
        "INTEROP_MANAGEMENT_PORT": str(urlsplit(broker.management_url).port),
        "INTEROP_TLS_PORT": tls_port,
        "INTEROP_RESULTS": str(results),
        "RABBITMQ_HOST": endpoint.host,
        "RABBITMQ_5672_TCP": str(endpoint.port),
        "RABBITMQ_5671_TCP": tls_port,
        "RABBITMQ_URL": f"amqp://{user}:{password}@{endpoint.host}:{endpoint.port}/%2f",
        "AMQP_HOST": endpoint.host,
        "AMQP_USERNAME": user,
        "AMQP_PASSWORD": password,
        "AMQP_URI": f"amqp://{user}:{password}@{endpoint.host}:{endpoint.port}/%2F",
        "AMQP_HTTP_URL": broker.management_url,
        "TEST_BROKER": f"amqp://{user}:{password}@{endpoint.host}:{endpoint.port}//",
        "TEST_BACKEND": "rpc://",
    }


def _closed_port() -> int:
    """A port on which nobody listens: neither broker speaks TLS here."""
    return free_ports(1)[0]
