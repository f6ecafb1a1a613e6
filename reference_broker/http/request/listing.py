"""A list of objects: ``columns``, ``sort`` and pagination as RabbitMQ has them, and no long stops.

Rendering and encoding go in slices, and the loop gets its turn between them, so that ten thousand
queues don't keep clients waiting. The list of objects is taken at once; their values are of the
moment when each is rendered.

Without ``sort`` a list is in its own order, by virtual host and name in most; ``sort_reverse``
turns the whole list round, ties too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reference_broker.http.request.answer import (
    MEDIA_TYPE,
    NO_CACHE,
    ApiError,
    Row,
    bad_request,
    encode,
    json_response,
)
from reference_broker.http.request.name_filter import NameFilter, name_filter

SLICE_ROWS = 200
"""Rows that are rendered and encoded before the loop has its turn: about 5 ms of queues."""

PAGE_SIZE = 100
PAGE_SIZE_MAX = 500
"""Rows of a page: RabbitMQ's own limit."""

Subject = TypeVar("Subject")
_Path = tuple[str, ...]
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Page:
    """The wanted part of a list, of the objects whose names ``shows`` lets through."""

    number: int
    size: int
    shows: NameFilter | None

    @classmethod
    def parse(cls, query: QueryParams) -> Page | None:
        """The page that a query asks for; ``None`` where it asks for none. Raises :exc:`ApiError`
        400."""
        if "page" not in query:
            return None
        try:
            number, size = int(query["page"]), int(query.get("page_size", PAGE_SIZE))
        except ValueError:
            raise bad_request("Pagination parameters are invalid") from None
        if number < 1 or not 1 <= size <= PAGE_SIZE_MAX:
            shown = size if "page_size" in query else "undefined"
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                "invalid_pagination_parameters",
                f"Invalid pagination parameters: page number {number}, page size {shown}",
            )
        is_pattern = query.get("use_regex") == "true"
        return cls(number, size, name_filter(query.get("name", ""), is_pattern=is_pattern))

    def of(self, items: Sequence[Any]) -> Sequence[Any]:
        """This page's part. Raises :exc:`ApiError` 400 for a page that is not there."""
        start = (self.number - 1) * self.size
        if start and start >= len(items):
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                "page_out_of_range",
                f"Page out of range, page: {self.number} page size: {self.size}, len: {len(items)}",
            )
        return items[start : start + self.size]

    def envelope(self, rows: list[Row], *, filtered: int, total: int) -> Row:
        """The answer: the rows and how many there are."""
        return {
            "filtered_count": filtered,
            "item_count": len(rows),
            "items": rows,
            "page": self.number,
            "page_count": -(-filtered // self.size),
            "page_size": self.size,
            "total_count": total,
        }


async def listed(
    request: Request,
    subjects: Sequence[Subject],
    render: Callable[[Subject], Row],
    name_of: Callable[[Subject], str] | None = None,
    order: Callable[[Subject], Any] | None = None,
) -> Response:
    """``subjects`` as the request wants to see them. There are pages only with ``name_of``; the
    list's own order is that of the subjects, or by ``order``.

    Raises :exc:`ApiError` 400 for a page that can't be.
    """
    query = request.query_params
    columns = _columns(query)
    sort = _path(query["sort"]) if query.get("sort") else None
    page = None if name_of is None else Page.parse(query)
    if order is not None:
        subjects = sorted(subjects, key=order)

    def shown(subject: Subject) -> Row:
        return only(render(subject), columns)

    if page is None and sort is None:
        return await _whole(subjects, shown)
    chosen = subjects
    if page is not None and page.shows is not None and name_of is not None:
        shows = page.shows
        chosen = [subject for subject in subjects if shows(name_of(subject))]
    if sort is None:
        assert page is not None
        rows = await _rendered(page.of(chosen), shown)
    else:
        rows = await _rendered(chosen, render)
        rows.sort(key=lambda row: _rank(_at(row, sort)))
        if query.get("sort_reverse") == "true":
            rows.reverse()
        rows = [only(row, columns) for row in (rows if page is None else page.of(rows))]
    if page is None:
        return await _whole(rows, lambda row: row)
    return json_response(page.envelope(rows, filtered=len(chosen), total=len(subjects)))


def stats_disabled(request: Request) -> bool:
    """True if the request wants objects without the columns that have to be counted for them."""
    return request.query_params.get("disable_stats") == "true"


def shown_columns(request: Request, row: Row) -> Response:
    """A single object, of which the request may want some columns only."""
    return json_response(only(row, _columns(request.query_params)))


def only(row: Row, columns: Sequence[_Path]) -> Row:
    """The columns of a row that are wanted; all if none is named. ``a.b`` is b within a. A column
    that the row doesn't have leaves no trace."""
    if not columns:
        return row
    chosen: Row = {}
    for path in columns:
        source: Any = row
        for name in path:
            source = source.get(name, _NOTHING) if isinstance(source, dict) else _NOTHING
        if source is _NOTHING:
            continue
        target: Any = chosen
        for name in path[:-1]:
            target = target.setdefault(name, {})
        target[path[-1]] = source
    return chosen


def _columns(query: QueryParams) -> list[_Path]:
    return [_path(name) for name in query.get("columns", "").split(",") if name]


def _path(name: str) -> _Path:
    return tuple(name.split("."))


def _at(row: Row, path: _Path) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _rank(value: Any) -> tuple[int, float, str]:
    """The rank of any value in a column: numbers, then truth, then texts. A missing value counts as
    0 (rabbit_mgmt_util:sort_key)."""
    if value is None:
        return (0, 0, "")
    if isinstance(value, bool):
        return (1, value, "")
    if isinstance(value, int | float):
        return (0, value, "")
    return (2, 0, value if isinstance(value, str) else repr(value))


async def _rendered(subjects: Sequence[Any], render: Callable[[Any], Row]) -> list[Row]:
    rows: list[Row] = []
    for start in range(0, len(subjects), SLICE_ROWS):
        rows += [render(subject) for subject in subjects[start : start + SLICE_ROWS]]
        await asyncio.sleep(0)
    return rows


async def _whole(subjects: Sequence[Any], render: Callable[[Any], Row]) -> Response:
    if len(subjects) <= SLICE_ROWS:
        return json_response([render(subject) for subject in subjects])
    return StreamingResponse(_pieces(subjects, render), headers=NO_CACHE, media_type=MEDIA_TYPE)


async def _pieces(subjects: Sequence[Any], render: Callable[[Any], Row]) -> AsyncIterator[bytes]:
    """The JSON array, a slice at a time."""
    before = b"["
    for start in range(0, len(subjects), SLICE_ROWS):
        rows = [render(subject) for subject in subjects[start : start + SLICE_ROWS]]
        yield before + encode(rows)[1:-1]
        before = b","
        await asyncio.sleep(0)
    yield b"]"
