"""binding_declaration: RabbitMQ's refusals, word by word, and nothing changed by any of them."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException

ME = object()
OTHER_CONNECTION = object()
DEFAULT = "ACCESS_REFUSED - operation not permitted on the default exchange"


@pytest.fixture
def vhost() -> VHost:
    vhost = VHost("/", VHostParts(MemoryJournal(), Ids(1)))
    vhost.declare_queue("q")
    vhost.declare_queue("e", exclusive=True, owner=ME)
    vhost.declare_exchange("x", "fanout")
    vhost.bind("x", "e", "", destination_is_queue=True, owner=ME)
    return vhost


@pytest.mark.parametrize(
    ("source", "destination", "is_queue", "reply_text"),
    [
        ("nx", "nq", True, "NOT_FOUND - no exchange 'nx' in vhost '/'"),
        ("nx", "q", True, "NOT_FOUND - no exchange 'nx' in vhost '/'"),
        ("x", "nq", True, "NOT_FOUND - no queue 'nq' in vhost '/'"),
        ("ns", "nd", False, "NOT_FOUND - no exchange 'ns' in vhost '/'"),
        ("ns", "x", False, "NOT_FOUND - no exchange 'ns' in vhost '/'"),
        ("x", "nd", False, "NOT_FOUND - no exchange 'nd' in vhost '/'"),
        ("nx", "e", True, "NOT_FOUND - no exchange 'nx' in vhost '/'"),
        ("x", "e", True, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'e'"),
        ("", "nq", True, DEFAULT),
        ("", "x", False, DEFAULT),
        ("x", "", False, DEFAULT),
    ],
)
def test_refused_bindings(
    vhost: VHost, source: str, destination: str, is_queue: bool, reply_text: str
) -> None:
    before = vhost.topology_version, len(vhost.bindings())
    with pytest.raises(ChannelException) as caught:
        vhost.bind(source, destination, "k", destination_is_queue=is_queue, owner=OTHER_CONNECTION)
    assert caught.value.reply_text.startswith(reply_text)
    assert (vhost.topology_version, len(vhost.bindings())) == before


@pytest.mark.parametrize(
    ("source", "destination", "is_queue"),
    [("nx", "nq", True), ("x", "q", True), ("nx", "e", True), ("ns", "nd", False)],
)
def test_unbinding_what_is_not_bound_is_fine(
    vhost: VHost, source: str, destination: str, is_queue: bool
) -> None:
    before = vhost.topology_version
    vhost.unbind(source, destination, "", destination_is_queue=is_queue, owner=ME)
    assert vhost.topology_version == before


@pytest.mark.parametrize(
    ("source", "destination", "is_queue"), [("", "q", True), ("", "x", False), ("x", "", False)]
)
def test_the_default_exchange_is_not_unbound(
    vhost: VHost, source: str, destination: str, is_queue: bool
) -> None:
    with pytest.raises(ChannelException) as caught:
        vhost.unbind(source, destination, "", destination_is_queue=is_queue)
    assert caught.value.reply_text == DEFAULT


def test_another_connections_binding_is_not_unbound(vhost: VHost) -> None:
    vhost.unbind("x", "e", "no such key", destination_is_queue=True, owner=OTHER_CONNECTION)
    with pytest.raises(ChannelException) as caught:
        vhost.unbind("x", "e", "", destination_is_queue=True, owner=OTHER_CONNECTION)
    assert caught.value.code == 405
    vhost.unbind("x", "e", "", destination_is_queue=True, owner=ME)
    assert vhost.bindings_from("x") == []


@pytest.mark.parametrize("arguments", [{"x-match": "bogus"}, {"x-match": 5}])
def test_only_a_headers_exchange_looks_at_x_match(vhost: VHost, arguments: dict[str, Any]) -> None:
    before = vhost.topology_version
    with pytest.raises(ChannelException, match="Invalid x-match field"):
        vhost.bind("amq.headers", "q", "", arguments, destination_is_queue=True)
    with pytest.raises(ChannelException, match="Invalid x-match field"):  # before the 405
        vhost.bind("amq.match", "e", "", arguments, destination_is_queue=True)
    assert vhost.topology_version == before
    vhost.bind("amq.direct", "q", "", arguments, destination_is_queue=True)


def test_binding_twice_is_binding_once(vhost: VHost) -> None:
    vhost.bind("x", "q", "k", {"a": 1, "b": 2}, destination_is_queue=True)
    before = vhost.topology_version, vhost.journal.tail
    vhost.bind("x", "q", "k", {"b": 2, "a": 1}, destination_is_queue=True)
    assert (vhost.topology_version, vhost.journal.tail) == before
    assert len(vhost.bindings_to("q", is_queue=True)) == 2


@pytest.mark.parametrize(
    ("source", "destination", "is_queue", "durable"),
    [
        ("amq.fanout", "dq", True, True),
        ("x", "dq", True, False),
        ("amq.fanout", "q", True, False),
        ("amq.fanout", "de", True, False),
        ("amq.fanout", "dx", False, True),
        ("dx", "x", False, False),
        ("x", "dx", False, False),
    ],
)
def test_a_binding_survives_when_both_its_ends_do(
    vhost: VHost, source: str, destination: str, is_queue: bool, durable: bool
) -> None:
    vhost.declare_queue("dq", durable=True)
    vhost.declare_queue("de", durable=True, exclusive=True, owner=ME)
    vhost.declare_exchange("dx", "fanout", durable=True)
    before = vhost.journal.tail
    vhost.bind(source, destination, "", destination_is_queue=is_queue, owner=ME)
    assert vhost.journal.tail - before == durable
    vhost.unbind(source, destination, "", destination_is_queue=is_queue, owner=ME)
    assert vhost.journal.tail - before == 2 * durable
