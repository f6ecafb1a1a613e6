"""mqkit_spark.columns.values: columns with values that Python can't hold."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mqkit_spark.columns.values import Unreadable, values_of

pa = pytest.importorskip("pyarrow")

NOT_UTF8 = pa.array([b"ok", b"\xff", None]).view(pa.string())


def test_a_readable_column_is_its_values() -> None:
    assert values_of(pa.array(["a", None])) == ["a", None]


def test_text_that_is_no_text_is_one_value() -> None:
    assert values_of(NOT_UTF8) == ["ok", Unreadable("text that is not UTF-8"), None]


def test_inside_a_map_it_spoils_the_map_of_its_row() -> None:
    maps = pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), NOT_UTF8[:2])
    assert values_of(maps) == [[("a", "ok")], Unreadable("text that is not UTF-8")]


def test_a_time_that_python_has_not_is_one_value() -> None:
    times = pa.array([0, 2**60]).cast(pa.timestamp("us", "UTC"))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert values_of(times) == [epoch, Unreadable("a time outside of the years 1 to 9999")]
