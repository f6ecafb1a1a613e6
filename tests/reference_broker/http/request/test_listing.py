"""Lists: columns, order, pages; and slices, between which others have their turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from reference_broker.http.request import portions
from reference_broker.http.request.answer import ApiError, Row
from reference_broker.http.request.listing import PAGE_SIZE_MAX, PIECE_BYTES, listed, only
from reference_broker.http.request.portions import ENTRIES, ROW_ENTRIES
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


SLICE_ROWS = ENTRIES // ROW_ENTRIES


def request_for(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


def row_of(number: int) -> Row:
    return {"name": f"n{number}", "size": -number, "stats": {"got": number % 3, "put": 0}}


async def ask(query: str, count: int = 5, *, pages: bool = True) -> Any:
    name_of = (lambda number: f"n{number}") if pages else None
    answer = await listed(request_for(query), range(count), row_of, name_of)
    if not isinstance(answer, StreamingResponse):
        return json.loads(bytes(answer.body))
    pieces = [piece async for piece in answer.body_iterator]
    return json.loads(b"".join(piece if isinstance(piece, bytes) else b"" for piece in pieces))


def test_columns() -> None:
    row = row_of(1)
    assert only(row, []) is row
    assert only(row, [("name",), ("stats", "got")]) == {"name": "n1", "stats": {"got": 1}}
    assert only(row, [("stats",), ("stats", "got")])["stats"]["got"] == 1
    assert only(row, [("no",), ("name", "deeper"), ("stats", "no", "deeper")]) == {}


async def test_columns_of_a_list() -> None:
    assert await ask("columns=name", 2) == [{"name": "n0"}, {"name": "n1"}]
    assert await ask("columns=name,no&sort=size", 2) == [{"name": "n1"}, {"name": "n0"}]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("sort=size", "n4 n3 n2 n1 n0"),
        ("sort=name&sort_reverse=true", "n4 n3 n2 n1 n0"),
        ("sort=stats.got", "n0 n3 n1 n4 n2"),
        ("sort=no.such", "n0 n1 n2 n3 n4"),
        ("sort=stats", "n0 n3 n1 n4 n2"),
        ("sort=", "n0 n1 n2 n3 n4"),
        ("unknown=x&msg_rates_age=60", "n0 n1 n2 n3 n4"),
    ],
)
async def test_order(query: str, names: str) -> None:
    assert " ".join(row["name"] for row in await ask(query)) == names


async def test_columns_of_different_types_have_an_order_too() -> None:
    values: list[Any] = ["b", None, 2, "a", 1.5, True, [1], {}]
    answer = await listed(request_for("sort=v"), values, lambda value: {"v": value})
    assert [row["v"] for row in json.loads(bytes(answer.body))][:4] == [None, 1.5, 2, True]


async def test_a_page() -> None:
    page = await ask("page=2&page_size=2&columns=name")
    assert page == {
        "filtered_count": 5, "item_count": 2, "items": [{"name": "n2"}, {"name": "n3"}],
        "page": 2, "page_count": 3, "page_size": 2, "total_count": 5,
    }  # fmt: skip
    sorted_page = await ask("page=1&page_size=2&columns=name&sort=size")
    assert sorted_page["items"] == [{"name": "n4"}, {"name": "n3"}]


async def test_a_page_of_what_has_the_name() -> None:
    page = await ask("page=1&name=1&pagination=true", 20)
    assert (page["filtered_count"], page["total_count"], page["page_size"]) == (11, 20, 100)
    assert {"n1", "n11"} <= {row["name"] for row in page["items"]}
    empty = await ask("page=1&name=zzz")
    assert (empty["items"], empty["page_count"]) == ([], 0)


@pytest.mark.parametrize(
    ("pattern", "count"), [("%5EN[12]%24", 2), (".*", 5), ("n3|n4", 2), ("n%5Cd", 5), ("x", 0)]
)
async def test_names_that_match_a_pattern(pattern: str, count: int) -> None:
    assert (await ask(f"page=1&use_regex=true&name={pattern}"))["filtered_count"] == count


async def test_a_pattern_that_is_none() -> None:
    with pytest.raises(ApiError) as refused:
        await ask("page=1&use_regex=true&name=%5B")
    assert refused.value.reason == "Pagination parameters are invalid"


async def test_ties_are_turned_round_too() -> None:
    names = [row["name"] for row in await ask("sort=no.such&sort_reverse=true")]
    assert names == ["n4", "n3", "n2", "n1", "n0"]


async def test_a_list_has_an_order_of_its_own() -> None:
    answer = await listed(request_for(""), ["b", "a"], lambda name: {"n": name}, order=str)
    assert json.loads(bytes(answer.body)) == [{"n": "a"}, {"n": "b"}]


async def test_a_plain_name_is_fine_as_a_pattern() -> None:
    assert (await ask("page=1&use_regex=true&name=n3"))["item_count"] == 1


async def test_the_largest_page() -> None:
    assert (await ask(f"page=1&page_size={PAGE_SIZE_MAX}", 600))["item_count"] == PAGE_SIZE_MAX
    with pytest.raises(ApiError):
        await ask(f"page=1&page_size={PAGE_SIZE_MAX + 1}")


async def test_some_lists_have_no_pages() -> None:
    assert len(await ask("page=1&page_size=2", pages=False)) == 5


@pytest.mark.parametrize("count", [0, 1, SLICE_ROWS, SLICE_ROWS + 1, 3 * SLICE_ROWS])
@pytest.mark.parametrize("query", ["", "sort=name", "columns=name"])
async def test_slices_make_one_list(count: int, query: str) -> None:
    names = [f"n{number}" for number in range(count)]
    assert [row["name"] for row in await ask(query, count)] == (
        sorted(names) if query == "sort=name" else names
    )


@pytest.mark.parametrize("query", ["", "sort=name", "page=1&sort=name"])
async def test_others_have_their_turn_between_slices(query: str) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await ask(query, 5 * SLICE_ROWS)
    task.cancel()
    assert turns >= 5


@pytest.mark.parametrize(
    ("query", "least"),
    [
        ("page=1", 0),
        ("page=1&use_regex=true&name=n", 0),
        ("page=1&use_regex=true&name=" + quote("(a|b)*a(a|b){600}x|n"), 1),
        ("columns=" + ",".join(f"c{number}" for number in range(1_000)), 10),
        ("columns=" + ".".join("abcde" * 200), 10),
    ],
)
async def test_a_request_that_makes_each_row_dear_has_fewer_of_them_in_a_slice(
    monkeypatch: pytest.MonkeyPatch, query: str, least: int
) -> None:
    places = 0

    async def counted(request: Request) -> None:
        nonlocal places
        places += 1

    monkeypatch.setattr(portions, "next_turn", counted)
    await ask(query, 40)
    assert least <= places <= (40 if least else 0)


async def test_the_default_exchanges_bindings_are_listed_in_slices_too(
    server: Server, api: httpx.AsyncClient
) -> None:
    vhost = server.broker.vhosts["/"]
    names = [f"q{number}" for number in range(SLICE_ROWS + 1)]
    for name in names:
        vhost.declare_queue(name)
    vhost.bind("amq.fanout", "q0", "k", destination_is_queue=True)
    rows = (await api.get("/api/bindings")).json()
    assert [row["destination"] for row in rows] == [*sorted(names), "q0"]
    assert {row["source"] for row in rows[:-1]} == {""}
    of_default = (await api.get("/api/exchanges/%2F/amq.default/bindings/source")).json()
    assert [row["destination"] for row in of_default] == names
    assert of_default[0] in (await api.get("/api/queues/%2F/q0/bindings")).json()


async def test_what_has_gone_is_left_out_and_what_came_is_not_seen() -> None:
    there = dict.fromkeys(range(3 * SLICE_ROWS))
    answer = await listed(
        request_for(""), list(there), lambda number: {"n": number}, is_there=there.__contains__
    )
    assert isinstance(answer, StreamingResponse)
    for number in range(2 * SLICE_ROWS, 3 * SLICE_ROWS):
        del there[number]
    there[-1] = None
    pieces = [piece async for piece in answer.body_iterator if isinstance(piece, bytes)]
    assert [row["n"] for row in json.loads(b"".join(pieces))] == list(range(2 * SLICE_ROWS))


async def test_a_page_of_what_has_gone_has_fewer_rows() -> None:
    answer = await listed(
        request_for("page=1&sort=n"),
        range(10),
        lambda number: {"n": number},
        str,
        is_there=lambda number: number % 2 == 0,
    )
    page = json.loads(bytes(answer.body))
    assert [row["n"] for row in page["items"]] == [0, 2, 4, 6, 8]
    assert (page["item_count"], page["filtered_count"], page["total_count"]) == (5, 10, 10)


async def test_a_large_page_comes_in_pieces() -> None:
    answer = await listed(
        request_for("page=1&page_size=500"), range(500), lambda _: {"x": "y" * 2_000}, str
    )
    assert isinstance(answer, StreamingResponse)
    pieces = [piece async for piece in answer.body_iterator if isinstance(piece, bytes)]
    assert len(pieces) > 5
    assert json.loads(b"".join(pieces))["item_count"] == 500


@pytest.mark.parametrize("size", [10, PIECE_BYTES, 5 * PIECE_BYTES])
async def test_a_long_row_leaves_in_pieces(size: int) -> None:
    """One of 44 MB at once was a turn of 50 ms."""
    answer = await listed(request_for(""), range(2), lambda number: {"text": "x" * size})
    assert isinstance(answer, StreamingResponse) == (size > 10)
    if isinstance(answer, StreamingResponse):
        pieces = [
            bytes(piece) async for piece in answer.body_iterator if not isinstance(piece, str)
        ]
    else:
        pieces = [bytes(answer.body)]
    assert json.loads(b"".join(pieces)) == [{"text": "x" * size}] * 2
    assert max(map(len, pieces)) <= PIECE_BYTES + 1
