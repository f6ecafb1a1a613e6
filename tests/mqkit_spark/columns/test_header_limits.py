"""mqkit_spark.columns.header_limits: headers that AMQP has room for, and those next to them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message, Properties
from mqkit.transport.native.encoding import append_publish
from mqkit.transport.native.handshake import FRAME_MAX
from mqkit.wire import MAX_TABLE_DEPTH, MAX_TABLE_ITEMS, SizedInt, encode_table
from mqkit.wire.field_table import decode_table
from mqkit_spark.columns.header_limits import HEADERS_OCTETS_MAX, check, is_surely_short

EMPTY_TEXT = len(encode_table({"a": ""}))
LONGEST = {"a": "x" * (HEADERS_OCTETS_MAX - EMPTY_TEXT)}


def nested(depth: int) -> dict[str, Any]:
    """``depth`` tables inside one another."""
    table: dict[str, Any] = {}
    for _ in range(depth - 1):
        table = {"a": table}
    return table


FITTING: list[dict[str, Any]] = [
    {},
    LONGEST,
    nested(MAX_TABLE_DEPTH),
    {"a": [None] * (MAX_TABLE_ITEMS - 1)},
    {"ä" * 127: 1, "b": Decimal("-21474836.48"), "c": SizedInt("b", -128)},
]
MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"a": math.nan}, "nan is not a finite number"),
    ({"a": [-math.inf]}, "-inf is not a finite number"),
    ({"a": Decimal("21474836.48")}, "is no decimal"),
    ({"a": Decimal("1E+10")}, "does not fit a decimal"),
    ({"a": SizedInt("b", 128)}, "is no byte"),
    ({"a": 2**63}, "is no long"),
    ({"ä" * 128: 1}, "a short string holds 255 bytes"),
    (nested(MAX_TABLE_DEPTH + 1), "nested deeper than 32"),
    ({"a": [None] * MAX_TABLE_ITEMS}, "more than 16384 values"),
    ({"a": "x" * (HEADERS_OCTETS_MAX - EMPTY_TEXT + 1)}, "fit into a frame"),
]


@pytest.mark.parametrize("headers", FITTING, ids=range(len(FITTING)))
def test_what_has_room_can_be_sent_and_read_beside_the_longest_other_properties(
    headers: dict[str, Any],
) -> None:
    check(headers)
    text = "y" * 255
    longest = Properties(
        headers=headers,
        content_type=text,
        content_encoding=text,
        priority=255,
        correlation_id=text,
        reply_to=text,
        expiration_ms=int("9" * 255),
        message_id=text,
        type=text,
        app_id=text,
    )
    append_publish([], Message("", "", b"", longest), 1, FRAME_MAX)
    decode_table(encode_table(headers))


@pytest.mark.parametrize(("headers", "words"), MISFITS, ids=range(len(MISFITS)))
def test_what_has_none_is_refused_with_its_reason(headers: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        check(headers)


def test_of_text_the_number_of_characters_may_be_enough_to_know() -> None:
    assert is_surely_short({"a": "x" * 1000, "b": None})
    assert not is_surely_short(LONGEST)
    assert not is_surely_short({"x" * 100: ""})
    assert not is_surely_short({str(n): "" for n in range(MAX_TABLE_ITEMS + 1)})


@given(st.dictionaries(st.text(max_size=70), st.none() | st.text(), max_size=20))
def test_what_is_surely_short_passes_the_check(headers: dict[str, str | None]) -> None:
    if is_surely_short(headers):
        check(headers)
