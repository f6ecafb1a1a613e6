"""mqkit.sync.declaring: the cache's code over blocking channels."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.sync.declaring import declare_all
from mqkit.topology import TopologyCache
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.url import parse


@pytest.mark.parametrize("choice", BlockingChoice)
def test_a_refused_object_is_put_aside_and_the_rest_is_declared(
    broker_url: str, direct: Any, name: str, choice: BlockingChoice
) -> None:
    cache = TopologyCache()
    cache.add([Queue(name, auto_delete=True), Exchange(name, auto_delete=True)])
    cache.add_server_named("own", Queue("", exclusive=True))
    cache.add([Binding(name, "own", "k")])
    connection = choice.transport().connect(parse(broker_url), name="a test", timeout_s=20)
    try:
        declared = declare_all(cache, connection)
        assert declared.declared == 3
        assert [refused.declaration for refused in declared.quarantined] == [
            Queue(name, auto_delete=True)
        ]
        assert cache.current_name("own") != "own"
        assert connection.is_open
    finally:
        connection.close()
