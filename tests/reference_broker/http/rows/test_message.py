"""Messages in JSON, there and back."""

from __future__ import annotations

import base64
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, decode_header
from reference_broker.http.request.answer import ApiError
from reference_broker.http.rows.message import (
    PIECE_CHARACTERS,
    PIECE_OCTETS,
    header_of,
    payload_from_json,
    payload_pieces,
    payload_steps,
    payload_to_json,
    properties_from_json,
    properties_to_json,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
OCTETS = st.integers(0, 255)
HEADERS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)
NUMBERS = {
    "delivery_mode": OCTETS,
    "priority": OCTETS,
    "timestamp": st.integers(0, 2**40),
    "headers": HEADERS,
}
PROPERTIES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={field.name: NUMBERS.get(field.name, TEXTS) for field in fields(Properties)}
)


@given(PROPERTIES)
def test_properties_come_back(given_properties: dict[str, Any]) -> None:
    header = header_of(properties_from_json(given_properties), b"12345")
    assert decode_header(header)[0] == 5
    assert properties_to_json(header) == (given_properties or [])


@given(st.binary(max_size=200))
def test_octets_come_back(body: bytes) -> None:
    assert payload_from_json(base64.b64encode(body).decode(), "base64") == body


def test_a_large_payload_is_decoded_in_pieces() -> None:
    body = bytes(range(256)) * 4_000
    text = base64.b64encode(body).decode()
    pieces = list(payload_pieces(text, "base64"))
    assert len(pieces) == -(-len(text) // PIECE_CHARACTERS) > 4
    assert b"".join(pieces) == body
    for wrong in (text[:-1], text[:100] + "@" + text[101:], text[:100] + "=" + text[101:]):
        with pytest.raises(ApiError) as refused:
            payload_from_json(wrong, "base64")
        assert refused.value.reason == ["not_base64", text[:80]]


@given(TEXTS)
def test_texts_come_back(text: str) -> None:
    assert payload_from_json(text, "string").decode() == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([field.name for field in fields(Properties)]), JSON))
def test_whatever_is_sent_is_a_message_or_a_bad_request(properties: dict[str, Any]) -> None:
    try:
        header = header_of(properties_from_json(properties), b"")
    except ApiError:
        return
    properties_to_json(header)


def test_no_properties_as_they_are_shown() -> None:
    assert properties_from_json([]) == Properties()


@pytest.mark.parametrize("value", [None, 1, "x", [1]])
def test_properties_of_another_type(value: Any) -> None:
    with pytest.raises(ApiError):
        properties_from_json(value)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"", "string"),
        ("\u0436".encode() * PIECE_OCTETS, "string"),
        (b"a" + "\u0436".encode() * PIECE_OCTETS, "string"),
        ("\u0436".encode() * PIECE_OCTETS + b"\xd0", "base64"),
        (b"a" * PIECE_OCTETS + b"\xff", "base64"),
        (bytes(range(256)) * 4_000, "base64"),
    ],
)
def test_a_long_payload_is_made_in_steps(body: bytes, encoding: str) -> None:
    shown = body.decode() if encoding == "string" else base64.b64encode(body).decode()
    assert payload_to_json(body, text=True) == (shown, encoding)
    assert payload_to_json(body, text=False) == (base64.b64encode(body).decode(), "base64")
    steps = len(list(payload_steps(body, text=False)))
    assert steps == -(-len(body) // PIECE_OCTETS)
    assert len(list(payload_steps(body, text=False, truncate=PIECE_OCTETS))) == min(1, steps)
