"""Messages as they should be, beside those that were there."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

import mqkit
from mqkit.testing import assert_published, delivery


class Email(BaseModel):
    to: str


ANN = delivery(
    Email(to="ann"), exchange="events", routing_key="email", message_id="1", type="Email"
)
BOB = delivery(Email(to="bob"), message_id="2", headers={"tries": 2})


def test_what_fits_is_returned() -> None:
    assert assert_published(ANN, Email(to="ann"), type="Email") is ANN
    assert assert_published([ANN, BOB], {"to": "bob"}, headers={"tries": 2}) is BOB
    assert assert_published([ANN, BOB], b'{"to":"ann"}', exchange="events") is ANN
    assert assert_published([ANN, BOB], '{"to":"bob"}') is BOB
    assert assert_published([ANN, BOB], message_id="2") is BOB
    assert assert_published([BOB]) is BOB


def test_what_is_different_is_told_of_each() -> None:
    with pytest.raises(AssertionError) as told:
        assert_published([ANN, BOB], {"to": "cid"}, headers={"tries": 3}, routing_key="email")
    assert str(told.value) == (
        "of 2 messages none is as it should be:\n"
        "  'events' 'email', id 1, b'{\"to\":\"ann\"}'\n"
        "    body: {'to': 'ann'}, {'to': 'cid'} should be\n"
        "    header tries: not there, 3 should be\n"
        "  '' 'queue', id 2, b'{\"to\":\"bob\"}'\n"
        "    body: {'to': 'bob'}, {'to': 'cid'} should be\n"
        "    header tries: 2, 3 should be\n"
        "    routing_key: 'queue', 'email' should be"
    )


def test_a_body_that_is_no_json_is_told_as_it_is() -> None:
    with pytest.raises(AssertionError, match=r"body: b'\\xff', b'7' should be"):
        assert_published(delivery(b"\xff"), 7)


def test_none_is_none() -> None:
    with pytest.raises(AssertionError, match=r"^there is no message as it should be$"):
        assert_published([], "x")


def test_what_is_told_is_bounded() -> None:
    with pytest.raises(AssertionError) as told:
        assert_published([delivery("x" * 1000)] * 1000, "y" * 1000)
    assert len(str(told.value)) < 30_000
    assert str(told.value).endswith("and so on")


def test_what_no_message_has_is_refused() -> None:
    with pytest.raises(mqkit.ConfigurationError, match="'colour' is nothing that a message has"):
        assert_published(ANN, colour="red")
