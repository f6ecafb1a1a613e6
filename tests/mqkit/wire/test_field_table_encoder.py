"""Writing field tables: pamqp reads them, and what has no place in one is refused."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pamqp.decode
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import EncodeError, Typed, decode_table, encode_table, table_type_name
from mqkit.wire.field_table_encoder import encode_timestamp
from mqkit.wire.field_type import MAX_TABLE_DEPTH

Strategy = st.SearchStrategy[Any]


class Level(IntEnum):
    HIGH = 9


@given(data=st.data())
def test_pamqp_reads_what_we_write(data: st.DataObject, any_table: Strategy) -> None:
    table = data.draw(any_table)
    octets = encode_table(table)
    assert pamqp.decode.field_table(octets) == (len(octets), table)


@given(data=st.data())
def test_a_table_survives(data: st.DataObject, any_table: Strategy) -> None:
    table = data.draw(any_table)
    octets = encode_table(table)
    decoded, end = decode_table(octets)
    assert (decoded, end) == (table, len(octets))
    assert encode_table(decoded) == octets
    assert list(decoded) == list(table)


@pytest.mark.parametrize(
    ("value", "name", "octets"),
    [
        (True, "bool", b"t\x01"),
        (5, "signedint", b"I\x00\x00\x00\x05"),
        (Level.HIGH, "signedint", b"I\x00\x00\x00\x09"),
        (2**31 - 1, "signedint", b"I\x7f\xff\xff\xff"),
        (-(2**31), "signedint", b"I\x80\x00\x00\x00"),
        (2**31, "long", b"l\x00\x00\x00\x00\x80\x00\x00\x00"),
        (-(2**31) - 1, "long", b"l\xff\xff\xff\xff\x7f\xff\xff\xff"),
        (1.5, "double", b"d\x3f\xf8\x00\x00\x00\x00\x00\x00"),
        ("é", "longstr", b"S\x00\x00\x00\x02\xc3\xa9"),
        (b"\xff", "binary", b"x\x00\x00\x00\x01\xff"),
        (memoryview(b"\xff"), "binary", b"x\x00\x00\x00\x01\xff"),
        (None, "void", b"V"),
        ((None,), "array", b"A\x00\x00\x00\x01V"),
        (OrderedDict(a=None), "table", b"F\x00\x00\x00\x03\x01aV"),
        (Decimal("-1.23"), "decimal", b"D\x02\xff\xff\xff\x85"),
        (Decimal("2E+3"), "decimal", b"D\x00\x00\x00\x07\xd0"),
        (datetime(1970, 1, 1, 0, 0, 7), "timestamp", b"T\x00\x00\x00\x00\x00\x00\x00\x07"),
        (Typed("s", 5), "short", b"s\x00\x05"),
        (Typed("f", 1.5), "float", b"f\x3f\xc0\x00\x00"),
        (Typed("S", b"\xff"), "longstr", b"S\x00\x00\x00\x01\xff"),
        (Typed("t", False), "bool", b"t\x00"),
        (Typed("T", 7), "timestamp", b"T\x00\x00\x00\x00\x00\x00\x00\x07"),
    ],
)
def test_what_a_value_becomes_on_the_wire(value: object, name: str, octets: bytes) -> None:
    assert encode_table({"k": value})[6:] == octets
    assert table_type_name(value) == name


def test_a_time_is_in_utc_and_whole_seconds() -> None:
    east = timezone(timedelta(hours=2))
    assert encode_timestamp(datetime(1970, 1, 1, 2, 0, 1, 999_999, tzinfo=east)) == (
        encode_timestamp(1)
    )
    assert encode_timestamp(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == encode_timestamp(1)
    far = datetime(9038, 1, 16, 2, 23, 45, 999_999, tzinfo=UTC)
    assert encode_timestamp(far) == encode_timestamp(far.replace(microsecond=0))
    assert encode_timestamp(far.replace(tzinfo=None)) == encode_timestamp(far)


@pytest.mark.parametrize(
    "value",
    [
        complex(1, 2),
        {1, 2},
        2**63,
        -(2**63) - 1,
        "\ud800",
        {"x" * 256: 1},
        {5: 1},
        Decimal("NaN"),
        Decimal("1E+10"),
        Decimal("1E+999999"),
        Decimal("1E-256"),
        Decimal(2**31),
        datetime(1969, 12, 31, tzinfo=UTC),
        Typed("Z", 1),
        Typed("b", 128),
        Typed("b", "x"),
        Typed("f", 1e300),
        float("nan"),
        float("inf"),
        [{"deep": float("-inf")}],
        Typed("d", float("nan")),
        Typed("f", float("inf")),
        Decimal("Infinity"),
        Typed("S", 5),
        Typed("x", "text"),
        Typed("A", 5),
        Typed("F", 5),
        Typed("D", 5),
        Typed("T", "noon"),
        Typed("T", -1),
    ],
    ids=lambda value: f"{type(value).__name__}-{value!r:.30}",
)
def test_what_does_not_fit_is_refused(value: object) -> None:
    with pytest.raises(EncodeError):
        encode_table({"k": value})


def test_only_a_mapping_is_a_table() -> None:
    with pytest.raises(EncodeError, match="not a table"):
        encode_table([("k", 1)])  # type: ignore[arg-type]


def test_depth_is_bounded() -> None:
    tables: dict[str, Any] = {}
    arrays: list[Any] = []
    for _ in range(MAX_TABLE_DEPTH - 1):
        tables = {"k": tables}
        arrays = [arrays]
    assert decode_table(encode_table(tables))[0] == tables
    with pytest.raises(EncodeError, match="tables nested deeper"):
        encode_table({"k": tables})
    with pytest.raises(EncodeError, match="arrays nested deeper"):
        encode_table({"k": arrays})


def test_a_table_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with pytest.raises(EncodeError, match="nested deeper"):
        encode_table(loop)
