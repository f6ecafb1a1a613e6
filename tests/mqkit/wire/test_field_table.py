"""Reading field tables: pamqp's, every type, and each bound crossed."""

from __future__ import annotations

import decimal
import math
import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pamqp.decode
import pamqp.encode
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    ReplyCode,
    SizedInt,
    Typed,
    WireError,
    decode_sized_table,
    decode_table,
    encode_table,
    table_type_name,
)
from mqkit.wire.field_type import MAX_TABLE_DEPTH, MAX_TABLE_ITEMS, NAMES

Strategy = st.SearchStrategy[Any]

EXAMPLES: dict[str, tuple[bytes, Any]] = {
    "t": (b"\x01", True),
    "b": (b"\xff", -1),
    "B": (b"\xff", 255),
    "s": (b"\xff\xfe", -2),
    "u": (b"\xff\xfe", 65534),
    "I": (b"\xff\xff\xff\xfd", -3),
    "i": (b"\xff\xff\xff\xfd", 2**32 - 3),
    "l": (b"\xff" * 7 + b"\xfc", -4),
    "f": (b"\x3f\xc0\x00\x00", 1.5),
    "d": (b"\x3f\xf8" + b"\x00" * 6, 1.5),
    "D": (b"\x02\xff\xff\xff\x85", Decimal("-1.23")),
    "S": (b"\x00\x00\x00\x02\xc3\xa9", "é"),
    "A": (b"\x00\x00\x00\x03Vt\x00", [None, False]),
    "T": (b"\x00\x00\x00\x00\x65\x53\xf1\x00", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    "F": (b"\x00\x00\x00\x03\x01aV", {"a": None}),
    "V": (b"", None),
    "x": (b"\x00\x00\x00\x02\xff\x00", b"\xff\x00"),
}


def table_of(*entries: bytes) -> bytes:
    octets = b"".join(entries)
    return struct.pack(">L", len(octets)) + octets


def refusal_of(octets: bytes) -> WireError:
    with pytest.raises(WireError) as refused:
        decode_table(octets)
    assert refused.value.reply_code in (ReplyCode.SYNTAX_ERROR, ReplyCode.FRAME_ERROR)
    return refused.value


@given(data=st.data())
def test_we_read_what_pamqp_writes(data: st.DataObject, any_table: Strategy) -> None:
    table = data.draw(any_table)
    octets = pamqp.encode.field_table(table)
    assert decode_table(octets) == (table, len(octets))


def test_there_is_an_example_of_every_type() -> None:
    assert EXAMPLES.keys() == NAMES.keys()


@pytest.mark.parametrize("tag", EXAMPLES)
def test_every_type_is_read(tag: str) -> None:
    octets, value = EXAMPLES[tag]
    table = table_of(b"\x03key", tag.encode(), octets)
    decoded, end = decode_table(memoryview(b"before" + table + b"after"), 6)
    assert (decoded, end) == ({"key": value}, 6 + len(table))
    assert type(decoded["key"]) is type(value)
    assert pamqp.decode.field_table(table)[1] == decoded


@pytest.mark.parametrize("tag", EXAMPLES)
def test_exact_reading_loses_no_type(tag: str) -> None:
    octets, _ = EXAMPLES[tag]
    table = table_of(b"\x03key", tag.encode(), octets)
    decoded, _ = decode_table(table, exact=True)
    assert encode_table(decoded) == table
    assert table_type_name(decoded["key"]) == NAMES[tag]


@pytest.mark.parametrize("tag", "bBsuIil")
def test_integers_keep_their_size_and_stay_integers(tag: str) -> None:
    octets, value = EXAMPLES[tag]
    table = table_of(b"\x03key", tag.encode(), octets)
    decoded, _ = decode_sized_table(table)
    assert encode_table(decoded) == table
    assert table_type_name(decoded["key"]) == NAMES[tag]
    assert decoded == {"key": value}
    assert type(decoded["key"]) is (int if tag == "I" else SizedInt)
    assert table_type_name(decoded["key"] + 0) == "signedint" or tag == "i"


def test_other_types_have_no_size() -> None:
    for tag in "fSAF":
        octets, value = EXAMPLES[tag]
        assert decode_sized_table(table_of(b"\x01a", tag.encode(), octets))[0] == {"a": value}


def test_both_letters_of_a_64_bit_integer_are_read_and_the_small_one_is_written() -> None:
    octets, value = EXAMPLES["l"]
    assert decode_table(table_of(b"\x01a", b"L", octets))[0] == {"a": value}
    exact, _ = decode_table(table_of(b"\x01a", b"L", octets), exact=True)
    assert exact == {"a": Typed("l", value)}
    for tag in (b"l", b"L"):
        big, _ = decode_table(table_of(b"\x01a", tag, (2**40).to_bytes(8, "big")), exact=True)
        assert big == {"a": 2**40}


def test_any_octet_but_zero_is_true() -> None:
    assert decode_table(table_of(b"\x01at\x02"))[0] == {"a": True}
    assert decode_table(table_of(b"\x01at\x00"))[0] == {"a": False}


def test_of_the_same_name_the_first_counts() -> None:
    assert decode_table(table_of(b"\x01at\x01", b"\x01bV", b"\x01at\x00"))[0] == (
        {"a": True, "b": None}
    )


def test_names_and_texts_that_are_not_utf8_survive() -> None:
    octets = table_of(b"\x01\xff", b"S\x00\x00\x00\x01\xfe")
    decoded, _ = decode_table(octets)
    assert decoded == {"\udcff": b"\xfe"}
    exact, _ = decode_table(octets, exact=True)
    assert exact == {"\udcff": Typed("S", b"\xfe")}
    assert encode_table(exact) == octets


def test_a_time_beyond_datetime_survives() -> None:
    last = 253_402_300_799
    assert decode_table(table_of(b"\x01aT", struct.pack(">Q", last)))[0] == {
        "a": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    }
    for seconds in (last + 1, 2**64 - 1):
        octets = table_of(b"\x01aT", struct.pack(">Q", seconds))
        assert decode_table(octets)[0] == {"a": Typed("T", seconds)}
        assert encode_table({"a": Typed("T", seconds)}) == octets


def test_a_decimal_does_not_depend_on_the_callers_context() -> None:
    octets = table_of(b"\x01aD\x02", struct.pack(">i", 2**31 - 1))
    with decimal.localcontext() as context:
        context.prec = 2
        assert decode_table(octets)[0] == {"a": Decimal("21474836.47")}


def test_depth_is_bounded() -> None:
    def nested(depth: int) -> bytes:
        inner = b""
        for _ in range(depth - 1):
            inner = b"A" + table_of(inner)
        return table_of(b"\x01a" + inner) if inner else table_of()

    assert decode_table(nested(MAX_TABLE_DEPTH))
    assert f"deeper than {MAX_TABLE_DEPTH}" in refusal_of(nested(MAX_TABLE_DEPTH + 1)).text
    assert "deeper" in refusal_of(nested(20_000)).text

    inner = table_of()
    for _ in range(MAX_TABLE_DEPTH):
        inner = table_of(b"\x01aF" + inner)
    assert "deeper" in refusal_of(inner).text


def test_the_number_of_values_is_bounded() -> None:
    def wide(count: int) -> bytes:
        return table_of(b"\x01aA", table_of(b"V" * (count - 1)))

    assert len(decode_table(wide(MAX_TABLE_ITEMS))[0]["a"]) == MAX_TABLE_ITEMS - 1
    assert f"more than {MAX_TABLE_ITEMS} values" in refusal_of(wide(MAX_TABLE_ITEMS + 1)).text


@pytest.mark.parametrize(
    ("octets", "complaint"),
    [
        (b"", "longer than what holds it"),
        (b"\x00\x00\x00", "longer than what holds it"),
        (b"\x00\x00\x00\x01", "longer than what holds it"),
        (b"\xff\xff\xff\xff", "longer than what holds it"),
        (table_of(b"\x01a"), "an entry has no value"),
        (table_of(b"\x05a") + b"more", "an entry has no value"),
        (table_of(b"\x01aI\x00\x00") + b"more", "an entry is longer than its table"),
        (table_of(b"\x01aI\x00\x00"), "a value is cut short"),
        (table_of(b"\x01aT\x00\x00"), "a value is cut short"),
        (table_of(b"\x01aD\x00\x00"), "a value is cut short"),
        (table_of(b"\x01at"), "an entry is longer than its table"),
        (table_of(b"\x01aS\x00\x00"), "long string has no length"),
        (table_of(b"\x01aS\x00\x00\x00\x05abcd") + b"more", "an entry is longer than its table"),
        (table_of(b"\x01ax\x00\x00\x00\x05abcd"), "long string is longer than what holds it"),
        (table_of(b"\x01aZ"), "no type has the tag 'Z'"),
        (table_of(b"\x01ad", struct.pack(">d", math.nan)), "a float is not a finite number"),
        (table_of(b"\x01ad", struct.pack(">d", -math.inf)), "a float is not a finite number"),
        (table_of(b"\x01af", struct.pack(">f", math.inf)), "a float is not a finite number"),
        (table_of(b"\x01ad\x00\x00"), "a value is cut short"),
        (table_of(b"\x01a\xff"), "no type has the tag"),
        (table_of(b"\x01aF", b"\x00\x00\x00\x01"), "longer than what holds it"),
        (table_of(b"\x01aF", b"\x00\x00"), "longer than what holds it"),
        (table_of(b"\x01aA", table_of(b"I\x00")) + b"more", "a value is longer than its array"),
        (table_of(b"\x01aA", b"\xff\xff\xff\xff"), "longer than what holds it"),
    ],
)
def test_a_broken_table_is_refused(octets: bytes, complaint: str) -> None:
    assert complaint in refusal_of(octets).text


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_wire_error(octets: bytes) -> None:
    for candidate in (octets, table_of(octets), table_of(b"\x01aA", table_of(octets))):
        for exact in (False, True):
            try:
                decode_table(candidate, exact=exact)
            except WireError:
                pass


@given(data=st.data())
def test_changed_octets_raise_nothing_but_wire_error(
    data: st.DataObject, any_table: Strategy
) -> None:
    octets = bytearray(encode_table(data.draw(any_table)))
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    try:
        decoded, _ = decode_table(bytes(octets))
    except WireError:
        return
    encode_table(decoded)
