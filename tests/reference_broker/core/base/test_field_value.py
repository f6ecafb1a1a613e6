"""field_value: equal and printed as RabbitMQ has it (each line was run against 3.10.8)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mqkit.wire import Typed
from reference_broker.core.base.field_value import comparable, erlang_term, printed

NEW_YEAR = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (0, False, False),
        (1, 1.0, False),
        (1, "1", False),
        ("1", b"1", True),
        (None, None, True),
        (None, False, False),
        (NEW_YEAR, 1577836800, True),
        (Typed("T", 5), 5, True),
        (Decimal("1.5"), Decimal("1.5"), True),
        (Decimal("1.5"), Decimal("1.50"), False),
        (Decimal("1"), 1, False),
        ([1, "a"], [1, b"a"], True),
        ([1], [2], False),
        ([1], (1,), True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ([], {}, False),
    ],
)
def test_what_is_equal(one: Any, other: Any, same: bool) -> None:
    assert (comparable(one) == comparable(other)) is same


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "undefined"),
        (True, "true"),
        (5, "5"),
        (1.5, "1.5"),
        ("bogus", '<<"bogus">>'),
        ('a"b\\', '<<"a\\"b\\\\">>'),
        ("é", '<<"é"/utf8>>'),
        (b"all", '<<"all">>'),
        (b"\x00\xff", "<<0,255>>"),
        ("a\n", "<<97,10>>"),
        (["all"], '[{longstr,<<"all">>}]'),
        ({"a": 1}, '[{<<"a">>,signedint,1}]'),
        (Decimal("1.5"), "{1,15}"),
        (Decimal("-15"), "{0,-15}"),
        (NEW_YEAR, "1577836800"),
        (Typed("s", 5), "5"),
    ],
)
def test_how_erlang_prints(value: Any, text: str) -> None:
    assert erlang_term(value) == text


def test_strings_are_printed_as_they_are() -> None:
    assert printed("foo") == "foo"
    assert printed(b"foo\xff") == "foo\ufffd"
    assert printed(False) == "false"


def test_what_no_table_holds_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        comparable(object())


def test_a_decimal_without_a_value_prints_too() -> None:
    assert erlang_term(Decimal("NaN")) == "{0,0}"
