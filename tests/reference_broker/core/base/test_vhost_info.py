"""Limits of a virtual host: by name, and none where they are negative."""

from __future__ import annotations

import pytest

from reference_broker.core.base.vhost_info import MAX_CONNECTIONS, MAX_QUEUES, VHostInfo


@pytest.mark.parametrize(("most", "limit"), [(5, 5), (0, 0), (-1, None)])
def test_a_negative_limit_is_none(most: int, limit: int | None) -> None:
    info = VHostInfo(limits={MAX_QUEUES: most})
    assert info.limit(MAX_QUEUES) == limit
    assert info.limit(MAX_CONNECTIONS) is None
