"""Fixtures of the client's tests: a broker, a faulty proxy before it, and unused names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from mqkit.testing.proxy import FaultyProxy
from mqkit.testing.servers.free_ports import free_ports


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
    return free_ports(1)[0]
