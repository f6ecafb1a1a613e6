"""mqkit.transport.native.over_sockets.transport: deliveries with and without their exact octets."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.message import Message, Properties
from mqkit.transport.native.exact import ExactProperties, from_octets, octets_of
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.url import parse
from mqkit.wire import Properties as WireProperties
from mqkit.wire import SizedInt, Typed

SENT = octets_of(
    WireProperties(headers={"n": Typed("s", 5), "f": Typed("f", 0.5)}, cluster_id="c", timestamp=7)
)


@pytest.mark.parametrize("exact", [False, True])
def test_exact_deliveries_go_out_as_they_came_in(broker: Any, exact: bool) -> None:
    transport = pickle.loads(pickle.dumps(NativeBlockingTransport(exact=exact)))
    connection = transport.connect(parse(broker.url), name="test", timeout_s=20)
    try:
        channel = connection.channel(confirms=True)
        name = channel.declare_queue(Queue("", exclusive=True)).name
        messages = [Message("", name, b"1", from_octets(SENT)), Message("", name, b"2")]
        assert all(outcome.result(20) for outcome in channel.publish_many(messages))
        first, second = channel.get_many(name, 3)
        assert (first.body, second.body) == (b"1", b"2")
        assert second.properties.persistent
        if exact:
            assert isinstance(first.properties, ExactProperties)
            assert first.properties.octets == SENT
            assert isinstance(first.headers["n"], SizedInt)
            assert first.headers["f"] == Typed("f", 0.5)
        else:
            assert type(first.properties) is Properties
            assert first.headers == {"n": 5, "f": 0.5}
    finally:
        connection.close()
