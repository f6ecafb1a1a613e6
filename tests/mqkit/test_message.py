"""The idempotency key of a delivery: a retry, a parking lot and a replay leave it alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from mqkit.message import IDEMPOTENCY_KEY, Delivery, Headers, Message, Properties
from mqkit.publishing.outgoing import outgoing
from mqkit.retry.headers import Failure, to_parking_lot, to_replay, to_tier

FAILURE = Failure("ValueError", "why", datetime(2026, 1, 2, tzinfo=UTC))


def arrived(message: Message) -> Delivery:
    return Delivery(
        message.exchange, message.routing_key, message.body, message.properties, 1, False
    )


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, None),
        ({IDEMPOTENCY_KEY: "order-7"}, "order-7"),
        ({IDEMPOTENCY_KEY: 7}, None),
        ({IDEMPOTENCY_KEY: b"\xff"}, None),
    ],
)
def test_a_delivery_has_the_key_that_its_publisher_gave(headers: Headers, key: str | None) -> None:
    assert arrived(Message("x", "k", b"", Properties(headers=headers))).idempotency_key == key


@pytest.mark.parametrize(
    "carry",
    [
        partial(to_tier, queue="q", after_ms=1000, failure=FAILURE),
        partial(to_parking_lot, queue="q", reason="bad", failure=FAILURE),
        partial(to_replay, queue="q"),
    ],
    ids=["tier", "parking lot", "replay"],
)
def test_it_goes_on_unchanged(carry: Callable[[Delivery], Message]) -> None:
    first = arrived(outgoing("x", "k", b"", message_id="m", idempotency_key="order-7"))
    again = arrived(carry(arrived(carry(first))))
    assert again.idempotency_key == "order-7"
    assert again.message_id == "m"
