"""Headers as JSON that keeps their types."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.archive.header_json import table_from_json, table_to_json
from mqkit.wire import SizedInt, Typed, decode_table, encode_table
from mqkit.wire.field_table import decode_tagged_table

BOUNDS = {"b": (-128, 127), "B": (0, 255), "s": (-(2**15), 2**15 - 1), "u": (0, 2**16 - 1),
          "i": (0, 2**32 - 1), "l": (-(2**63), 2**63 - 1)}  # fmt: skip

numbers = st.one_of(
    *(st.integers(*bounds).map(partial(Typed, tag)) for tag, bounds in BOUNDS.items())
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda f: Typed("f", f)),
    st.text(st.characters(codec="utf-8")),
    st.binary(),
    st.binary().map(lambda octets: Typed("S", octets)),
    st.integers(0, 2**40).map(lambda seconds: Typed("T", seconds)),
    st.tuples(st.integers(0, 255), st.integers(-(2**31), 2**31 - 1)).map(
        lambda pair: Decimal((int(pair[1] < 0), tuple(map(int, str(abs(pair[1])))), -pair[0]))
    ),
    numbers,
)
names = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["$amqp", "value"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


@given(st.dictionaries(names, values, max_size=5))
def test_any_table_is_the_same_octets_again(table: dict[str, Any]) -> None:
    octets = encode_table(table)
    read, _ = decode_tagged_table(octets)
    text = json.dumps(table_to_json(read))
    assert encode_table(table_from_json(json.loads(text))) == octets


def test_what_json_has_stands_as_it_is() -> None:
    table = {"n": 7, "big": 2**40, "x": 0.5, "t": "text", "no": None, "l": [True, {"in": "ner"}]}
    assert table_to_json(table) == table


def test_other_types_are_named_as_rabbitmq_names_them() -> None:
    table = {
        "s": SizedInt("s", 5),
        "f": Typed("f", 0.5),
        "T": datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        "x": b"\x00",
        "S": Typed("S", b"\xff"),
        "D": Decimal("1.25"),
        "F": {"$amqp": 1},
    }
    named = {name: tuple(each.values()) for name, each in table_to_json(table).items()}
    assert named == {
        "s": ("short", 5),
        "f": ("float", 0.5),
        "T": ("timestamp", 5),
        "x": ("binary", "AA=="),
        "S": ("longstr", "/w=="),
        "D": ("decimal", [2, 125]),
        "F": ("table", [["$amqp", 1]]),
    }
    assert decode_table(encode_table(table_from_json(table_to_json(table))))


@pytest.mark.parametrize(
    "shown",
    [
        5,
        {"h": {"$amqp": "whatever", "value": 1}},
        {"h": {"$amqp": "short"}},
        {"h": {"$amqp": "short", "value": "5"}},
        {"h": {"$amqp": "short", "value": True}},
        {"h": {"$amqp": "binary", "value": "no base64!"}},
        {"h": {"$amqp": "binary", "value": 5}},
        {"h": {"$amqp": "timestamp", "value": "soon"}},
        {"h": {"$amqp": "decimal", "value": [1]}},
        {"h": {"$amqp": "table", "value": 5}},
        {"h": [{"$amqp": ["short"], "value": 5}]},
    ],
)
def test_what_is_no_header_is_refused(shown: Any) -> None:
    with pytest.raises(ValueError):
        table_from_json(shown)
