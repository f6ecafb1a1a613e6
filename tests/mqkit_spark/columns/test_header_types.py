"""mqkit_spark.columns.header_types: Spark's types into AMQP's."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mqkit.wire import SizedInt, Typed, encode_table, table_type_name
from mqkit_spark.columns.header_types import (
    HEADERS_JSON_CHARACTERS_MAX,
    column_type,
    is_text_only,
)

MOMENT = datetime(2001, 1, 1, 0, 47, 5, 999, tzinfo=UTC)


def a_map(kind: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": True}


def a_list(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def a_struct(**kinds: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True} for name, kind in kinds.items()]
    return {"type": "struct", "fields": fields}


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("string", "5", "longstr"),
        ("boolean", True, "bool"),
        ("tinyint", None, "void"),
        ("byte", -128, "byte"),
        ("short", -5, "short"),
        ("integer", 5, "signedint"),
        ("long", 5, "long"),
        ("float", 1.5, "float"),
        ("double", 1.5, "double"),
        ("decimal(5,2)", Decimal("1.50"), "decimal"),
        ("binary", b"5", "binary"),
        ("timestamp", MOMENT, "timestamp"),
        (a_list("long"), [1, None], "array"),
        (a_map("long"), [("a", 1)], "table"),
        (a_struct(a="long"), {"a": 1}, "table"),
        ("void", None, "void"),
    ],
)
def test_each_type_has_its_own(kind: Any, value: object, name: str) -> None:
    if kind == "tinyint":
        kind = "byte"
    (sent,) = column_type(a_map(kind)).to_amqp([("h", value)]).values()
    assert table_type_name(sent) == name
    encode_table({"h": sent})
    assert column_type(a_map(kind)).to_amqp([("h", None)]) == {"h": None}


def test_nested_values_keep_their_types_all_the_way_down() -> None:
    kind = column_type(a_struct(a=a_list(a_map("short")), b=a_struct(c="float", d="timestamp")))
    sent = kind.to_amqp({"a": [[("x", 1)], None], "b": {"c": 0.5, "d": MOMENT}})
    assert sent == {
        "a": [{"x": 1}, None],
        "b": {"c": Typed("f", 0.5), "d": MOMENT.replace(microsecond=0)},
    }
    assert sent["a"][0]["x"].tag == "s"


def test_a_null_column_is_null_and_so_are_its_parts() -> None:
    for kind in ("string", a_map("string"), a_map("long"), a_struct(a="long")):
        assert column_type(kind).to_amqp(None) is None


def test_times_without_a_zone_are_utc_and_none_is_before_1970() -> None:
    kind = column_type(a_map("timestamp"))
    naive = MOMENT.replace(tzinfo=None)
    assert kind.to_amqp([("t", naive)]) == {"t": MOMENT.replace(microsecond=0)}
    with pytest.raises(ValueError, match="a timestamp before 1970"):
        kind.to_amqp([("t", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC))])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("binary", "is binary, expected a map, a struct, or a string with JSON"),
        (a_list("string"), "is array, expected a map"),
        (a_map("date"), "has at headers{} a date, which AMQP has no type for; cast it"),
        (a_struct(a=a_list("timestamp_ntz")), "has at headers.a[] a timestamp_ntz"),
        (a_map("variant"), "a variant, which"),
        (a_map({"type": "udt"}), "has at headers{} a udt"),
        ({**a_map("string"), "keyType": "long"}, "a map whose keys are no strings"),
        (
            {"type": "struct", "fields": a_struct(a="long")["fields"] * 2},
            "has two fields of one name at headers",
        ),
    ],
)
def test_types_that_amqp_has_not(kind: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        column_type(kind)


def test_only_a_map_of_strings_is_text_only() -> None:
    assert is_text_only(column_type(a_map("string")))
    for kind in (a_map("long"), a_struct(a="string"), "string", a_map(a_map("string"))):
        assert not is_text_only(column_type(kind))


JSON = column_type("string")


def test_json_has_every_type() -> None:
    text = '{"a": 5, "b": {"$amqp": "short", "value": 5}, "c": [null, {"d": "x"}]}'
    sent = JSON.to_amqp(text)
    assert sent == {"a": 5, "b": 5, "c": [None, {"d": "x"}]}
    assert isinstance(sent["b"], SizedInt)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON: Expecting property name"),
        ("[1]", "headers are no object"),
        ("5", "headers are no object"),
        ('{"a": {"$amqp": "carrot", "value": 1}}', "a header of an unknown type: 'carrot'"),
        ('{"a": {"$amqp": "short", "value": "x"}}', "a header that is no short"),
        ('{"a": ' + "[" * 100_000, "JSON nested too deep"),
        ('{"a": "' + "x" * HEADERS_JSON_CHARACTERS_MAX + '"}', "JSON of more than 1048576"),
    ],
    ids=range(7),
)
def test_json_that_is_no_headers(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        JSON.to_amqp(text)


def test_a_number_that_json_has_not_is_left_to_the_check_of_limits() -> None:
    assert math.isnan(JSON.to_amqp('{"a": NaN}')["a"])
