"""Fixtures of the client's tests: a broker, a faulty proxy before it, and unused names."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from mqkit.testing.proxy import FaultyProxy


@pytest.fixture
def broker_url(broker: Any) -> str:
    """The reference broker, and RabbitMQ: what these tests say is true of the client on either."""
    url: str = broker.url
    return url


@pytest.fixture
async def proxy(broker_url: str) -> AsyncIterator[FaultyProxy]:
    async with FaultyProxy.before(broker_url) as proxy:
        yield proxy


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"mqkit-test-{uuid4().hex[:12]}"


@pytest.fixture
def unused_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
