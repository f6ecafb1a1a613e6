"""Users of the session's etcd, each with a prefix of its own."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest

from mqkit.testing import Etcd
from reference_broker.testing.coordinator_user import CoordinatorUser

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test of this process uses; no etcd is shared between processes."""
    return f"/mqkit/test-{next(_numbers)}/"


@pytest.fixture
async def user(etcd_server: Etcd) -> AsyncIterator[CoordinatorUser]:
    """A user of the etcd of one member."""
    user = CoordinatorUser(etcd_server.endpoints)
    yield user
    await user.close()
