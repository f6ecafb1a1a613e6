"""Three nodes for the tests of a module, which may have others by a fixture of the same name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqkit.testing import Cluster, ClusterUnavailable, cluster


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=3) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))
