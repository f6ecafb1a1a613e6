"""Header tables: the walk lets pass what the codec can decode, and nothing else."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqkit.wire import (
    MAX_TABLE_DEPTH,
    MAX_TABLE_ITEMS,
    Typed,
    WireError,
    decode_table,
    encode_longstr,
    encode_table,
)
from reference_broker.core.message.header_table import (
    check_table,
    check_value,
    readable_table,
    value_end,
)
from reference_broker.errors import ConnectionException, ReplyCode

NAMES = st.text(max_size=8)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
    | st.binary(max_size=9).map(bytearray)
    | st.sampled_from([Decimal("1.5"), datetime(2026, 1, 1, tzinfo=UTC), Typed("b", 1)])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
TABLES = st.dictionaries(NAMES, VALUES, max_size=5)


def passes(octets: bytes) -> bool:
    try:
        check_table(octets, 0)
    except ConnectionException:
        return False
    return True


def readable(octets: bytes) -> bool:
    try:
        decode_table(octets)
    except WireError:
        return False
    return True


@given(TABLES, st.binary(max_size=3))
def test_a_table_passes_whatever_follows_it(table: dict[str, Any], after: bytes) -> None:
    check_table(b"ab" + encode_table(table) + after, 2)


@given(TABLES, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3))
@example({"a": 1}, [(6, ord("?"))])
@example({"a": 1}, [(6, ord("U"))])
def test_what_was_damaged_passes_if_the_codec_can_read_it(
    table: dict[str, Any], damage: list[tuple[int, int]]
) -> None:
    octets = bytearray(encode_table(table))
    for place, octet in damage:
        octets[place % len(octets)] = octet
    assert passes(bytes(octets)) == readable(bytes(octets))


@given(st.binary(max_size=60))
def test_garbage_passes_if_the_codec_can_read_it(octets: bytes) -> None:
    for table in (octets, encode_longstr(octets)):
        assert passes(table) == readable(table)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (b"\1a?", "field table: no type has the tag '?'"),
        (b"\1aS\0\0\0\5x", "field table: a value is longer than what holds it"),
        (b"\1aF\0\0\0\5x", "field table: longer than what holds it"),
        (b"\1aI\0", "field table: a value is longer than what holds it"),
        (b"\1a", "field table: a value is cut short"),
        (b"\1ad\x7f\xf8" + bytes(6), "field table: a float is not a finite number"),
        (b"\1af\xff\x80\0\0", "field table: a float is not a finite number"),
    ],
)
def test_what_is_wrong_is_named(entries: bytes, text: str) -> None:
    with pytest.raises(ConnectionException) as refused:
        check_table(encode_longstr(entries), 0)
    assert (refused.value.code, refused.value.text) == (ReplyCode.SYNTAX_ERROR, text)


@given(st.floats(), st.sampled_from(["d", "f"]))
@example(math.nan, "d")
@example(-math.inf, "f")
def test_a_float_passes_if_the_codec_can_read_it(value: float, tag: str) -> None:
    try:
        octets = struct.pack(f">{tag}", value)
    except OverflowError:
        return
    table = encode_longstr(b"\1a" + tag.encode() + octets)
    assert passes(table) == readable(table) == math.isfinite(value)


@pytest.mark.parametrize("over", [False, True])
def test_the_bounds_are_those_of_the_codec(over: bool) -> None:
    deep = b""
    for _ in range(MAX_TABLE_DEPTH - 2 + over):
        deep = b"A" + encode_longstr(deep)
    many = b"V" * (MAX_TABLE_ITEMS - 1 + over)
    for value in (deep, many):
        octets = encode_longstr(b"\1aA" + encode_longstr(value))
        assert passes(octets) == readable(octets) == (not over)


@given(TABLES)
def test_a_readable_table_is_encoded_again_to_the_same_octets(table: dict[str, Any]) -> None:
    octets = encode_table(table)
    assert encode_table(readable_table(octets)) == octets


@pytest.mark.parametrize("octets", [None, b"", b"\0\0\0\3\1a?", b"\0\0\0\2\1a"])
def test_no_table_and_one_that_cannot_be_decoded_are_empty(octets: bytes | None) -> None:
    assert readable_table(octets) == {}


@given(TABLES)
def test_a_table_has_room_for_what_is_not_in_it(table: dict[str, Any]) -> None:
    assert check_table(encode_table({"a": table}), 0) == check_table(encode_table(table), 0) - 1


@given(VALUES, st.binary(max_size=3))
def test_a_value_ends_where_its_length_says(value: Any, after: bytes) -> None:
    octets = encode_table({"": value})[5:]
    assert value_end(b"!" + octets + after, 1) == 1 + len(octets)
    left = check_value(octets + after, 0, len(octets), MAX_TABLE_ITEMS)
    assert left == check_table(encode_table({"": value}), 0)


@pytest.mark.parametrize("octets", [b"", b"S", b"S\0\0\0", b"A\0", b"F\0\0"])
def test_a_value_without_a_length_ends_nowhere(octets: bytes) -> None:
    with pytest.raises((IndexError, struct.error)):
        value_end(octets, 0)


def test_a_value_of_no_type_ends_nowhere() -> None:
    with pytest.raises(ConnectionException, match="no type has the tag '!'"):
        value_end(b"!", 0)
