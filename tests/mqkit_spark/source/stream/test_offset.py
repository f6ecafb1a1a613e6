"""The offset of a stream source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.source.stream.offset import START, Offset


def test_it_survives_sparks_log() -> None:
    offset = START.next(1, 1000, 3)
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset
    assert Offset.from_json(START.to_json()) == START


def test_a_batch_that_is_planned_twice_is_two_batches() -> None:
    first, second = START.next(1, 10, 1), START.next(1, 10, 1)
    assert first.name != second.name


def test_names_sort_by_number() -> None:
    numbers = [1, 9, 10, 99_999, 100_000]
    names = [START.next(number, 1, 1).name for number in numbers]
    assert names == sorted(names)


def test_shares_are_even_and_add_up() -> None:
    assert START.next(1, 10, 3).shares() == [4, 3, 3]
    assert START.next(1, 2, 3).shares() == [1, 1, 0]
    assert START.shares() == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"partition-1": 5},
        {**START.to_json(), "batch": -1},
        {**START.to_json(), "batch": True},
        {"batch": 1, "key": "../../../etc/pass", "messages": 1, "partitions": 1},
        {"batch": 1, "key": "0" * 16, "messages": 1, "partitions": 0},
        {"batch": 1, "key": None, "messages": 1, "partitions": 1},
    ],
)
def test_an_offset_of_another_source_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="not of this source"):
        Offset.from_json(given)
