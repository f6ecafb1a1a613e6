"""topology_bounds: each bound is crossed, and what exists may be declared again at it."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.topology_bounds import (
    MAX_BINDINGS,
    MAX_EXCHANGES,
    MAX_QUEUES,
    TopologyBounds,
)
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException, ReplyCode


def bounded(**bounds: int) -> VHost:
    return VHost("/", VHostParts(MemoryJournal(), Ids(1)), bounds=TopologyBounds(**bounds))


def refusal(method: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ChannelException) as caught:
        method(*args, **kwargs)
    assert caught.value.code is ReplyCode.PRECONDITION_FAILED
    return caught.value.text


def test_the_bounds_are_the_constants() -> None:
    bounds = TopologyBounds()
    assert (bounds.max_queues, bounds.max_exchanges, bounds.max_bindings) == (
        MAX_QUEUES,
        MAX_EXCHANGES,
        MAX_BINDINGS,
    )


def test_queues() -> None:
    vhost = bounded(max_queues=1)
    vhost.declare_queue("l1")
    # RabbitMQ 3.10.8, with a max-queues limit of 1; it comes before the arguments are looked at
    text = refusal(vhost.declare_queue, "l2", arguments={"x-max-length": -1})
    assert text == "cannot declare queue 'l2': queue limit in vhost '/' (1) is reached"
    vhost.declare_queue("l1")
    assert list(vhost.queues) == ["l1"]
    vhost.delete_queue("l1")
    vhost.declare_queue("l2")


def test_exchanges() -> None:
    vhost = bounded(max_exchanges=8)
    vhost.declare_exchange("x1", "fanout")
    text = refusal(vhost.declare_exchange, "x2", "fanout", durable=True)
    assert text == "cannot declare exchange 'x2' in vhost '/': exchange limit of 8 is reached"
    vhost.declare_exchange("x1", "fanout")
    assert "x2" not in vhost.exchanges
    assert vhost.journal.tail == 0
    vhost.delete_exchange("x1")
    vhost.declare_exchange("x2", "fanout")


def test_bindings() -> None:
    vhost = bounded(max_bindings=1)
    vhost.declare_queue("q")
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    text = refusal(vhost.bind, "amq.fanout", "q", "k", destination_is_queue=True)
    assert text == (
        "cannot bind to exchange 'amq.fanout' in vhost '/':"
        " binding limit in vhost '/' (1) is reached"
    )
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    vhost.unbind("amq.fanout", "q", "", destination_is_queue=True)
    vhost.bind("amq.fanout", "q", "k", destination_is_queue=True)
    assert len(vhost.bindings_from("amq.fanout")) == 1
