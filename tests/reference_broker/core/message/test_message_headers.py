"""message_headers: what an exchange sees of a message."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.message.header import CORRELATION_ID, MESSAGE_ID
from reference_broker.core.message.message_headers import NO_HEADERS, MessageHeaders
from reference_broker.errors import ConnectionException


def test_headers_and_properties() -> None:
    message = MessageHeaders(encode_header(0, Properties(message_id="m", headers={"a": 1})))
    assert message() == {"a": 1}
    assert message() is message()
    assert message.property(MESSAGE_ID) == b"\x01m"
    assert message.property(CORRELATION_ID) is None


def test_conditions_are_names_and_names_with_values() -> None:
    message = MessageHeaders(encode_header(0, Properties(headers={"a": 1, "b": "text"})))
    assert list(message.conditions()) == [
        "a",
        ("a", ("integer", 1)),
        "b",
        ("b", ("binary", b"text")),
    ]
    assert message.conditions() is message.conditions()


def test_none_at_all() -> None:
    assert NO_HEADERS() == {}
    assert NO_HEADERS.conditions() == {}
    assert NO_HEADERS.property(MESSAGE_ID) is None


def test_what_cannot_be_read_is_refused() -> None:
    whole = encode_header(0, Properties(message_id="message", headers={"a": "b"}))
    with pytest.raises(ConnectionException):
        MessageHeaders(whole[:-2]).property(MESSAGE_ID)
    with pytest.raises(ConnectionException):
        MessageHeaders(whole[:-2])()
