"""A pytest plugin for other people's suites: it hands them a broker, and writes down what happened.

Loaded with ``-p without_docker`` in a virtual environment that has nothing of this repository, so
it imports nothing of it. From the environment it takes ``INTEROP_HOST``, ``INTEROP_AMQP_PORT``,
``INTEROP_TLS_PORT`` (a closed port where there is no TLS), ``INTEROP_MANAGEMENT_PORT`` and
``INTEROP_RESULTS``, the file for
``{node id: [outcome, whether the test connected to the broker]}``.

Suites that connect to the usual ports of this machine are led to the broker's.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PORTS = {"5672/tcp": "INTEROP_AMQP_PORT", "5671/tcp": "INTEROP_TLS_PORT"}
MANAGEMENT_PORTS = ("15672/tcp", "15671/tcp")
USUAL_PORTS = {
    5672: "INTEROP_AMQP_PORT",
    5671: "INTEROP_TLS_PORT",
    15672: "INTEROP_MANAGEMENT_PORT",
}
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

results: dict[str, list[Any]] = {}
connected: set[str] = set()
running = ""


def pytest_plugin_registered(plugin: object) -> None:
    """Some suites start RabbitMQ in a container; their conftest is told that it has run one."""
    if isinstance(plugin, ModuleType) and hasattr(plugin, "check_docker_available"):
        container_info = plugin.ContainerInfo
        plugin.check_docker_available = lambda: None  # type: ignore[attr-defined]
        plugin.DockerClient = lambda _host: _Containers(container_info)  # type: ignore[attr-defined]


class _Containers:
    """Every container is the broker that runs already."""

    def __init__(self, container_info: Any) -> None:
        self._container_info = container_info

    def run(self, image: str, ports: list[str], environment: object = None) -> Any:
        known = {name: int(os.environ[variable]) for name, variable in PORTS.items()}
        known |= dict.fromkeys(MANAGEMENT_PORTS, known["5671/tcp"])
        return self._container_info(id="interop", ports=known, host=os.environ["INTEROP_HOST"])

    def kill(self, container: str) -> None:
        """It is somebody else's."""

    remove = kill


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "env(name): the services that the test needs")
    sys.addaudithook(_notice)
    socket.socket.connect = _led(socket.socket.connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = _led(socket.socket.connect_ex)  # type: ignore[method-assign]


def _led(connect: Any) -> Any:
    """``connect`` to the broker, where the usual port of this machine is meant."""

    def connect_there(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] in LOCAL_HOSTS and address[1] in USUAL_PORTS:
            port = int(os.environ[USUAL_PORTS[address[1]]])
            address = (address[0], port, *address[2:])
        return connect(self, address)

    return connect_there


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or not running or not isinstance(arguments[1], tuple):
        return
    if str(arguments[1][1]) in {os.environ[variable] for variable in USUAL_PORTS.values()}:
        connected.add(running)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    global running
    running = nodeid


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test has passed when its call has, and neither its setup nor its teardown has failed."""
    outcome = str(report.outcome)
    if outcome == "rerun":
        results.pop(report.nodeid, None)
    elif report.when == "call" or outcome != "passed":
        results[report.nodeid] = [outcome, False]


def pytest_sessionfinish() -> None:
    for nodeid in connected & results.keys():
        results[nodeid][1] = True
    Path(os.environ["INTEROP_RESULTS"]).write_text(json.dumps(results, indent=1))
