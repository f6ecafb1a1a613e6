"""Deliveries for tests of handlers."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

import mqkit
from mqkit.testing import delivery


class Email(BaseModel):
    to: str


def test_it_is_what_a_handler_gets() -> None:
    made = delivery(Email(to="ann"), queue="email", message_id="7", headers={"x": 1}, type="Email")
    assert made.body == b'{"to":"ann"}'
    assert (made.exchange, made.routing_key, made.message_id) == ("", "email", "7")
    assert dict(made.headers) == {"x": 1}
    assert made.properties.type == "Email"
    assert (made.attempt, made.first_failure, made.redelivered) == (1, None, False)


def test_a_later_attempt() -> None:
    made = delivery("x", attempt=3, exchange="events", routing_key="paid", redelivered=True)
    assert made.attempt == 3
    assert (made.original_exchange, made.original_routing_key) == ("events", "paid")
    assert made.redelivered


def test_there_is_no_attempt_before_the_first() -> None:
    with pytest.raises(mqkit.ConfigurationError, match="attempt=0: the first one is 1"):
        delivery(attempt=0)
