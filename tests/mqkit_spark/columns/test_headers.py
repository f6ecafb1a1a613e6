"""mqkit_spark.columns.headers: headers that arrived, as strings and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mqkit.wire import SizedInt, Typed, encode_table
from mqkit.wire.field_table import decode_tagged_table
from mqkit_spark.columns.header_types import JsonText
from mqkit_spark.columns.headers import as_json, as_map, readable

MOMENT = datetime(2001, 1, 1, 0, 47, tzinfo=UTC)

VALUES: list[tuple[Any, str | None, Any]] = [
    ("text ä", "text ä", "text ä"),
    ("", "", ""),
    (None, None, None),
    (True, "true", True),
    (False, "false", False),
    (5, "5", 5),
    (2**40, "1099511627776", 2**40),
    (SizedInt("b", -5), "-5", {"$amqp": "byte", "value": -5}),
    (SizedInt("l", 5), "5", {"$amqp": "long", "value": 5}),
    (1.5, "1.5", 1.5),
    (Typed("f", 1.5), "1.5", {"$amqp": "float", "value": 1.5}),
    (Decimal("1.50"), "1.50", {"$amqp": "decimal", "value": [2, 150]}),
    (Decimal("0E-20"), "0.00000000000000000000", {"$amqp": "decimal", "value": [20, 0]}),
    (MOMENT, "2001-01-01T00:47:00+00:00", {"$amqp": "timestamp", "value": 978310020}),
    (Typed("T", 2**50), str(2**50), {"$amqp": "timestamp", "value": 2**50}),
    (b"\x00\xff", "AP8=", {"$amqp": "binary", "value": "AP8="}),
    (Typed("S", b"\xff"), "/w==", {"$amqp": "longstr", "value": "/w=="}),
    ([1, ["x"]], '[1,["x"]]', [1, ["x"]]),
    ({"a": {"b": None}}, '{"a":{"b":null}}', {"a": {"b": None}}),
    ([SizedInt("s", 1)], '[{"$amqp":"short","value":1}]', [{"$amqp": "short", "value": 1}]),
    ({"$amqp": 1}, '{"$amqp":1}', {"$amqp": "table", "value": [["$amqp", 1]]}),
]


@pytest.mark.parametrize(("value", "text", "shown"), VALUES, ids=range(len(VALUES)))
def test_each_value_in_both_forms(value: Any, text: str | None, shown: Any) -> None:
    arrived, _ = decode_tagged_table(encode_table({"h": value}))
    assert as_map(arrived) == [("h", text)]
    assert json.loads(as_json(arrived)) == {"h": shown}


def test_json_is_sent_again_octet_for_octet() -> None:
    octets = encode_table({str(n): value for n, (value, _, _) in enumerate(VALUES)})
    arrived, _ = decode_tagged_table(octets)
    assert encode_table(JsonText().to_amqp(as_json(arrived))) == octets


def test_names_that_are_no_utf8_are_shown_and_json_keeps_them() -> None:
    octets = encode_table({"\udcffx": "y"})
    arrived, _ = decode_tagged_table(octets)
    assert as_map(arrived) == [("�x", "y")]
    as_json(arrived).encode()
    assert encode_table(JsonText().to_amqp(as_json(arrived))) == octets
    assert readable("ok ä") == "ok ä"
