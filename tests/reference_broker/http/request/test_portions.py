"""Walks in portions: so much in each, in the right order, and without what has gone."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request

from reference_broker.http.request.answer import Row
from reference_broker.http.request.portions import (
    ENTRIES,
    OCTETS,
    ROW_ENTRIES,
    TEXT_CHARACTERS,
    Portion,
    by_column,
    collected,
    encoded_rows,
    in_order,
    skip,
)
from reference_broker.http.request.turn_share import Turns, TurnShare

pytestmark = pytest.mark.anyio

ROWS = ENTRIES // ROW_ENTRIES


class CountedShare(TurnShare):
    """Counts the places that were taken, and what was done between two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.done = 0
        self.portions: list[int] = []

    async def turn(self, lane: str = "") -> None:
        self.portions.append(self.done)
        self.done = 0
        await super().turn(lane)

    def note(self, item: Any) -> Any:
        self.done += 1
        return item

    def request(self) -> Request:
        scope: dict[str, Any] = {"type": "http"}
        Turns(self, "").put_into(scope)
        return Request(scope)


@pytest.fixture
def share() -> CountedShare:
    return CountedShare()


async def rows_of(pieces: AsyncIterator[list[bytes]]) -> list[Any]:
    return [json.loads(row) async for rows in pieces for row in rows]


async def test_looking_at_many_takes_many_places(share: CountedShare) -> None:
    request = share.request()
    found, count = await collected(request, range(100_000), lambda each: share.note(each) % 2 == 0)
    assert (len(found), count) == (50_000, 100_000)
    assert share.portions == [ENTRIES] * (100_000 // ENTRIES)


@pytest.mark.parametrize("count", [0, 1, ENTRIES, ENTRIES + 1, 7 * ENTRIES + 3])
async def test_sorting_many_takes_many_places(share: CountedShare, count: int) -> None:
    numbers = [random.Random(1).randrange(100) for _ in range(count)]
    items = [(number, place) for place, number in enumerate(numbers)]
    ordered = await in_order(share.request(), items, lambda item: share.note(item)[0])
    assert list(ordered) == sorted(items)
    assert max([*share.portions, share.done]) <= ENTRIES


async def test_rows_are_sorted_by_what_they_show(share: CountedShare) -> None:
    def row_of(number: int) -> Row:
        return {"n": share.note(number) % 10}

    items = range(5 * ROWS + 1)
    ordered = await by_column(
        share.request(), items, row_of, lambda row: row["n"], lambda item: item % 2 == 0
    )
    wanted = sorted((item for item in items if item % 2 == 0), key=lambda item: item % 10)
    assert list(ordered) == wanted
    assert max([*share.portions, share.done]) <= ROWS
    assert len(share.portions) == 5


async def test_rows_that_somebody_made_large_are_few_in_a_portion(share: CountedShare) -> None:
    def row_of(number: int) -> Row:
        return {"n": share.note(number), "arguments": {"x": ["y" * 1_000] * 100}}

    assert len(await rows_of(encoded_rows(share.request(), range(50), row_of))) == 50
    assert max([*share.portions, share.done]) <= OCTETS // 100_000 + 1
    share.portions.clear()
    await by_column(share.request(), range(50), row_of, lambda row: row["n"])
    assert max([*share.portions, share.done]) <= OCTETS // 100_000 + 1


async def test_rows_come_in_portions(share: CountedShare) -> None:
    pieces = encoded_rows(share.request(), range(1_000), lambda number: {"n": share.note(number)})
    assert await rows_of(pieces) == [{"n": number} for number in range(1_000)]
    assert share.portions == [ROWS] * (1_000 // ROWS)


async def test_what_goes_between_two_portions_is_left_out(share: CountedShare) -> None:
    there = dict.fromkeys(range(3 * ROWS))
    pieces = encoded_rows(
        share.request(), list(there), lambda number: {"n": number}, lambda number: number in there
    )
    first = await anext(pieces)
    for number in range(0, 3 * ROWS, 2):
        del there[number]
    there[-1] = None
    rest = await rows_of(pieces)
    assert [json.loads(row)["n"] for row in first] == list(range(ROWS))
    assert [row["n"] for row in rest] == list(range(ROWS + 1, 3 * ROWS, 2))


async def test_a_long_text_is_encoded_in_slices(share: CountedShare) -> None:
    text = 'é"\\\U0001f600\n' * TEXT_CHARACTERS
    row: Row = {"before": 1, "text": text, "after": [{"a": None}]}
    rows: list[Row] = [row, {"small": 1}, row]
    pieces = encoded_rows(share.request(), rows, lambda each: each)
    assert await rows_of(pieces) == [row, {"small": 1}, row]
    assert len(share.portions) > 2 * len(text) // OCTETS


async def test_skipping_many_takes_many_places(share: CountedShare) -> None:
    items = iter(map(share.note, range(50_000)))
    await skip(share.request(), items, 49_999)
    assert max(share.portions) <= ENTRIES
    assert list(items) == [49_999]
    await skip(share.request(), items, 5)


async def test_a_portion_ends_by_what_comes_first(share: CountedShare) -> None:
    portion = Portion(share.request())
    assert not portion.spend(ENTRIES - 1, OCTETS - 1)
    assert portion.spend(1)
    await portion.end()
    assert portion.spend(0, OCTETS)
    assert share.portions == [0]
