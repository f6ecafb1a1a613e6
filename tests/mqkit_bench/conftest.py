"""Contestants for the bench's tests: the brokers of the other tests, and servers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqkit.testing.rabbitmq_node import NodeFailed
from mqkit.url import parse
from mqkit_bench.contestant import Contestant
from mqkit_bench.server import RabbitMQServer, ReferenceServer, rabbitmq_server, reference_server
from mqkit_bench.session import Address


@pytest.fixture
def contestant(broker: Any) -> Contestant:
    """Either broker. What the kernel accounts for is not asked here, so it has no process id."""
    endpoint = parse(broker.url)
    return Contestant(
        broker.name, Address(endpoint.host, endpoint.port), broker.management_url, pid=0
    )


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="session")
def server(server_folder: Path) -> Iterator[ReferenceServer]:
    """A reference broker with its data in ``server_folder``; tests may restart it."""
    with reference_server(server_folder) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMQServer]:
    """A RabbitMQ of this machine; tests may restart it."""
    try:
        with rabbitmq_server() as server:
            yield server
    except NodeFailed as why:
        pytest.skip(str(why))
