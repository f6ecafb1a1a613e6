"""The places of a history in a content header."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import MAX_TABLE_ITEMS, Properties, encode_header, encode_table
from reference_broker.core.dead_letter.history_places import HistoryPlaces, find_history

TABLE = {
    "own": [1, {"x-death": []}],
    "x-death": [{"queue": "q"}],
    "x-last-death-queue": "q",
    "CC": ["cc"],
    "x-first-death-reason": 5,
}


def places(table: dict[str, Any], **properties: Any) -> tuple[bytes, HistoryPlaces]:
    header = encode_header(0, Properties(headers=table, **properties))
    found = find_history(header)
    assert found is not None
    return header, found


@pytest.mark.parametrize("before", [{}, {"content_type": "x"}, {"content_encoding": "CC" * 9}])
def test_entries_and_deaths_are_found(before: dict[str, Any]) -> None:
    header, found = places(TABLE, message_id="m", **before)
    assert header[found.table : found.end] == encode_table(TABLE)
    assert [name.decode() for name in found.entries] == list(TABLE)[1:]
    for name, place in found.entries.items():
        entry = encode_table({name.decode(): TABLE[name.decode()]})[4:]
        assert header[place.start : place.end] == entry
        assert header[place.value : place.end] == entry[1 + len(name) :]
    span = found.deaths(header)
    assert span is not None
    assert header[slice(*span)] == b"F" + encode_table({"queue": "q"})


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"x-last-death-queue": "q"},
        {"x-death": [{"queue": "q"}]},
        {"x-death": [], "x-last-death-queue": "q"},
        {"x-death": "q", "x-last-death-queue": "q"},
        {"own": {"x-death": [5], "x-last-death-queue": "q"}},
    ],
)
def test_what_no_broker_wrote_is_no_history(table: dict[str, Any]) -> None:
    header, found = places(table)
    assert found.deaths(header) is None


def test_values_outside_of_x_death_are_counted() -> None:
    assert places({})[1].values_left == MAX_TABLE_ITEMS
    assert places(TABLE)[1].values_left == MAX_TABLE_ITEMS - 9
    assert places({"a": [None] * (MAX_TABLE_ITEMS - 1)})[1].values_left == 0
    assert places({"a": [None] * (MAX_TABLE_ITEMS + 5)})[1].values_left == -6


def test_without_a_table_there_is_no_place() -> None:
    assert find_history(encode_header(0, Properties(message_id="x-death"))) is None
