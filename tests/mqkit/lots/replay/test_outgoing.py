"""A parked message as it is sent back to work."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.lots.replay.edits import Unfit, set_edit
from mqkit.lots.replay.outgoing import Route, going_back, outgoing
from mqkit.message import Delivery
from mqkit.retry.headers import (
    ATTEMPT,
    ORIGINAL_EXCHANGE,
    ORIGINAL_ROUTING_KEY,
    PARKED_AT,
    QUEUE,
    REPLAYS,
)
from mqkit.retry.known_lots import KnownLots
from mqkit.transport.native.exact import (
    ExactProperties,
    from_octets,
    octets_of,
    wire_properties,
)
from mqkit.wire import Properties as WireProperties
from mqkit.wire import SizedInt

NOW = datetime(2026, 11, 24, tzinfo=UTC)
LOT = "q.parked"


def parked(body: bytes = b"{}", headers: dict[str, Any] | None = None, lot: str = LOT) -> Delivery:
    wire = WireProperties(message_id="m", expiration="5", user_id="ann", priority=3)
    wire.headers = {ATTEMPT: 6, PARKED_AT: "2026-11-23T00:00:00+00:00", **(headers or {})}
    return Delivery("", lot, body, from_octets(octets_of(wire)), 1, redelivered=False)


@pytest.mark.parametrize(
    ("headers", "lot", "known", "route", "target"),
    [
        ({}, LOT, {}, Route(), ("", "q")),
        ({}, "dlq", {"dlq": "q"}, Route(), ("", "q")),
        ({QUEUE: "r"}, "dlq", {"dlq": None}, Route(), ("", "r")),
        ({}, LOT, {}, Route("other"), ("", "other")),
        ({ORIGINAL_EXCHANGE: "x", ORIGINAL_ROUTING_KEY: "k"}, LOT, {}, Route(), ("", "q")),
        (
            {ORIGINAL_EXCHANGE: "x", ORIGINAL_ROUTING_KEY: "k"},
            LOT,
            {},
            Route(original=True),
            ("x", "k"),
        ),
        (
            {ORIGINAL_EXCHANGE: "", ORIGINAL_ROUTING_KEY: "q"},
            LOT,
            {},
            Route(original=True),
            ("", "q"),
        ),
    ],
)
def test_where_to(
    headers: dict[str, str],
    lot: str,
    known: dict[str, str | None],
    route: Route,
    target: tuple[str, str],
) -> None:
    sent = outgoing(parked(headers=headers, lot=lot), lot, route, KnownLots(known), (), NOW).message
    assert (sent.exchange, sent.routing_key, sent.mandatory) == (*target, True)


def test_it_starts_anew_and_all_else_stays() -> None:
    sent = going_back(parked(b"\xff", {"tenant": SizedInt("l", 7), REPLAYS: 2}), "q")
    assert (sent.exchange, sent.routing_key, sent.body, sent.mandatory) == ("", "q", b"\xff", True)
    assert sent.properties.headers[REPLAYS] == 3
    assert ATTEMPT not in sent.properties.headers
    assert PARKED_AT not in sent.properties.headers
    assert sent.properties.headers["tenant"] == SizedInt("l", 7)
    assert isinstance(sent.properties.headers["tenant"], SizedInt)
    assert isinstance(sent.properties, ExactProperties)
    kept = wire_properties(sent.properties.octets)
    assert (kept.message_id, kept.priority) == ("m", 3)
    # An old time to live would let it die at once, and somebody else's user id would be refused.
    assert (kept.expiration, kept.user_id) == (None, None)


@pytest.mark.parametrize(
    ("delivery", "lot", "known", "route", "why"),
    [
        (parked(lot="dlq"), "dlq", {"dlq": None}, Route(), "the queue that it failed on"),
        (
            parked(headers={QUEUE: "dlq"}, lot="dlq"),
            "dlq",
            {"dlq": None},
            Route(),
            "the queue that",
        ),
        (parked(), LOT, {}, Route(original=True), "the exchange that it came from"),
    ],
    ids=["nobody recorded a queue", "the lot itself", "nobody recorded an exchange"],
)
def test_one_that_can_not_be_sent(
    delivery: Delivery, lot: str, known: dict[str, str | None], route: Route, why: str
) -> None:
    with pytest.raises(Unfit, match=why):
        outgoing(delivery, lot, route, KnownLots(known), (), NOW)


def test_changes_are_told_and_done() -> None:
    edits = (set_edit("body.to=5"), set_edit("header.x=1"))
    sent = outgoing(parked(b'{"to": 4}'), LOT, Route(), KnownLots(), edits, NOW)
    assert sent.message.body == b'{"to":5}'
    assert sent.message.properties.headers["x"] == 1
    assert [change.lines() for change in sent.changes] == [
        ("- body.to: 4", "+ body.to: 5"),
        ("+ header.x: 1",),
    ]
