"""Field table values in JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Typed
from reference_broker.http.request.json_value import json_value, key_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"a": [1, "x", None, True], "b": {"c": 1.5}},
            {"a": [1, "x", None, True], "b": {"c": 1.5}},
        ),
        (b"text", "text"),
        (b"\xff\x00", "Not UTF-8, base64 is: /wA="),
        ("\udcff", "Not UTF-8, base64 is: /w=="),
        (datetime(2020, 1, 1, tzinfo=UTC), 1_577_836_800),
        (datetime(2020, 1, 1), 1_577_836_800),
        (Decimal("1.5"), 1.5),
        (Typed("T", 5), 5),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    assert json_value(value) == expected


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


@given(VALUES)
def test_everything_becomes_strict_json(value: Any) -> None:
    text = json.dumps(json_value(value), allow_nan=False)
    assert json.loads(text) == json_value(value)


def test_a_routing_key_that_is_no_text_is_shown_with_what_is() -> None:
    assert key_text(b"a.\xff".decode(errors="surrogateescape")) == "a.\ufffd"
    assert key_text("ä") == "ä"
