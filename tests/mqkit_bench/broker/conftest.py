"""The reference broker of these tests, as an entrant."""

from __future__ import annotations

import pytest

from mqkit_bench.broker.entrant import Entrant, entrant
from mqkit_bench.server import ReferenceServer


@pytest.fixture
def reference(server: ReferenceServer) -> Entrant:
    return entrant(server.contestant, "as a test")
