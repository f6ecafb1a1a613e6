"""Inner queues: which exchanges and queues have one, which are durable, and their ids later on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException
from reference_broker.testing.recording_journal import RecordingJournal

DELAYED: Mapping[str, Any] = {"x-delayed-type": "fanout"}
WINDOW: Mapping[str, Any] = {"x-message-id-window": 10}


@pytest.fixture
def vhost() -> VHost:
    return VHost("/", VHostParts(RecordingJournal(), Ids(1)))


def ids_of(exchange: Exchange) -> dict[str, int]:
    return {kind: queue.id for kind, queue in exchange.inner_queues().items()}


@pytest.mark.parametrize(
    ("type", "arguments", "kinds"),
    [
        ("fanout", {}, []),
        ("x-delayed-message", DELAYED, ["delayed"]),
        ("fanout", WINDOW, ["seen"]),
        ("x-delayed-message", {**DELAYED, **WINDOW}, ["delayed", "seen"]),
    ],
)
def test_an_exchange_has_the_queues_that_type_and_arguments_ask_for(
    vhost: VHost, type: str, arguments: Mapping[str, Any], kinds: list[str]
) -> None:
    exchange = vhost.declare_exchange("x", type, arguments=arguments)
    assert list(exchange.inner_queues()) == kinds
    assert list(ids_of(exchange).values()) == list(vhost.queues_by_id)
    assert not vhost.queues


@pytest.mark.parametrize("durable", [True, False])
def test_the_queues_of_an_exchange_are_durable_with_it(vhost: VHost, durable: bool) -> None:
    arguments = {**DELAYED, **WINDOW}
    exchange = vhost.declare_exchange(
        "x", "x-delayed-message", durable=durable, arguments=arguments
    )
    assert [queue.durable for queue in exchange.inner_queues().values()] == [durable, durable]


def test_a_bad_argument_of_a_new_exchange_is_refused(vhost: VHost) -> None:
    with pytest.raises(ChannelException, match="x-message-id-window"):
        vhost.declare_exchange("x", "fanout", arguments={"x-message-id-window": 0})
    assert "x" not in vhost.exchanges
    assert not vhost.queues_by_id


def test_a_bad_argument_of_an_exchange_in_the_journal_is_passed_over(vhost: VHost) -> None:
    exchange = Exchange("x", ExchangeType.FANOUT, arguments={"x-message-id-window": 0})
    vhost.inner_queues.restore_exchange(exchange, {})
    assert exchange.deduplication is None


def test_an_exchange_in_the_journal_has_its_queues_under_the_ids_they_had(vhost: VHost) -> None:
    exchange = Exchange("x", ExchangeType.DELAYED, arguments={**DELAYED, **WINDOW})
    vhost.inner_queues.restore_exchange(exchange, {"delayed": 7, "seen": 8})
    assert ids_of(exchange) == {"delayed": 7, "seen": 8}


def test_a_queue_that_an_earlier_version_did_not_make_gets_a_new_id(vhost: VHost) -> None:
    exchange = Exchange("x", ExchangeType.DELAYED, arguments={**DELAYED, **WINDOW})
    vhost.inner_queues.restore_exchange(exchange, {"delayed": 7})
    assert ids_of(exchange) == {"delayed": 7, "seen": 1 << 32 | 1}


@pytest.mark.parametrize(
    ("durable", "owner", "kept"), [(True, None, True), (True, "me", False), (False, None, False)]
)
def test_the_window_of_a_queue_is_kept_where_the_queue_is(
    vhost: VHost, durable: bool, owner: object | None, kept: bool
) -> None:
    queue = vhost.declare_queue(
        "q", durable=durable, exclusive=owner is not None, owner=owner, arguments=WINDOW
    )
    assert queue.deduplication is not None
    assert queue.deduplication.queue.durable is kept
    assert queue.deduplication.queue.id == queue.id + 1
