"""A message as columns, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import IDEMPOTENCY_KEY, Message, Properties
from mqkit.outbox.stored import NoMessage, columns_of, message_of
from mqkit.publishing.outgoing import outgoing

HEADERS = {
    "text": "ü",
    "number": 7,
    "octets": b"\xff\x00",
    "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    "price": Decimal("1.50"),
    "nested": {"list": [1, {"deep": True}], "none": None},
    IDEMPOTENCY_KEY: "work",
}


def test_nothing_of_a_message_is_lost() -> None:
    properties = Properties(
        content_type="application/json",
        content_encoding="gzip",
        headers=HEADERS,
        persistent=False,
        priority=9,
        correlation_id="c",
        reply_to="r",
        expiration_ms=1_500,
        message_id="m",
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
        type="Order",
        user_id="guest",
        app_id="shop",
    )
    message = Message("exchange", "key", b"\x00\xff", properties, mandatory=False)
    columns = columns_of(message, "customer")
    assert (columns["octets"], columns["ordering_key"]) == (2, "customer")
    assert message_of(columns) == message


def test_a_plain_message_gets_ids_that_stay() -> None:
    columns = columns_of(Message("", "orders", b"x"), None)
    message = message_of(columns)
    assert message.properties.message_id == columns["message_id"]
    assert message.properties.headers == {IDEMPOTENCY_KEY: columns["message_id"]}
    keyed = columns_of(outgoing("", "orders", b"x", message_id="m", idempotency_key="k"), None)
    assert message_of(keyed).properties.headers == {IDEMPOTENCY_KEY: "k"}


@pytest.mark.parametrize(
    ("message", "key", "told"),
    [
        (Message("x" * 256, "", b""), None, "exchange"),
        (Message("", "a\0b", b""), None, "routing_key.*NUL"),
        (Message(None, "k", b""), None, "exchange=None"),  # type: ignore[arg-type]
        (Message("", "k", b"", Properties(type="\ud800")), None, "type.*UTF-8"),
        (Message("", "k", b"", Properties(headers={"x": object()})), None, "headers"),
        (Message("", "k", b""), 7, "ordering_key=7"),
    ],
)
def test_what_has_no_place_is_refused_before_it_is_written(
    message: Message, key: Any, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        columns_of(message, key)


@pytest.mark.parametrize(
    "columns",
    [
        {"properties": []},
        {"properties": {"colour": "red"}},
        {"properties": {"priority": "high"}},
        {"properties": {"type": 1}},
        {"properties": {"persistent": 1}},
        {"headers": {"x": {"$amqp": "nothing", "value": 1}}},
        {"headers": 3},
    ],
)
def test_a_row_of_somebody_else_that_makes_no_message_says_why(columns: dict[str, Any]) -> None:
    row = columns_of(Message("", "orders", b"x"), None) | columns
    with pytest.raises(NoMessage):
        message_of(row)
