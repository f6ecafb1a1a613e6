"""A list of objects: ``columns``, ``sort`` and pagination as RabbitMQ has them, in portions.

Everything that is proportional to the list (collecting, filtering, sorting, rendering, encoding) is
done a portion at a time, in the request's places in the loop. What is listed is what was there when
it was asked for, without what has gone since; values are of the moment when each is rendered.

Without ``sort`` a list is in its own order, by virtual host and name in most; ``sort_reverse``
turns the whole list round, ties too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from types import MappingProxyType
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
from reference_broker.http.request.peers import asked_by, rows_for
from reference_broker.http.request.portions import (
    OCTETS,
    ROW_ENTRIES,
    Portion,
    by_column,
    collected,
    encoded_rows,
    everything,
    in_order,
    one_entry,
    skip,
)

PAGE_SIZE = 100
PAGE_SIZE_MAX = 500
"""Rows of a page: RabbitMQ's own limit."""

PIECE_BYTES = 256 * 1024
"""Octets of a piece of an answer: two portions of rows, or a part of a large message."""

COLUMNS_PER_ENTRY = 4
"""Names in ``columns`` for which a row counts as an entry of a portion more: thousands of them fit
a request."""

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

    def first(self, count: int) -> int:
        """The place of this page's first row in a list of ``count``. Raises :exc:`ApiError` 400 for
        a page that is not there."""
        start = (self.number - 1) * self.size
        if start and start >= count:
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                "page_out_of_range",
                f"Page out of range, page: {self.number} page size: {self.size}, len: {count}",
            )
        return start

    def envelope(self, rows: Sequence[bytes], *, filtered: int, total: int) -> list[bytes]:
        """The answer in pieces: the rows, which are encoded, and how many there are."""
        head = {"filtered_count": filtered, "item_count": len(rows)}
        tail = {
            "page": self.number,
            "page_count": -(-filtered // self.size),
            "page_size": self.size,
            "total_count": total,
        }
        between = [b"," + row if number else row for number, row in enumerate(rows)]
        return [encode(head)[:-1] + b',"items":[', *between, b"]," + encode(tail)[1:]]


async def listed(
    request: Request,
    subjects: Iterable[Subject],
    render: Callable[[Subject], Row],
    name_of: Callable[[Subject], str] | None = None,
    order: Callable[[Subject], Any] | None = None,
    is_there: Callable[[Subject], bool] = everything,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """``subjects`` as the request wants to see them. There are pages only with ``name_of``; the
    list's own order is that of the subjects, or by ``order``. A subject of which ``is_there`` says
    no by the time of its rendering is left out. Another node that asks gets the rows as they come.

    ``subjects`` is read in portions, so what it reads must stand still: a copy of each container.
    Raises :exc:`ApiError` 400 for a page that can't be.
    """
    query = request.query_params
    columns = _columns(query)
    row_entries = ROW_ENTRIES + sum(map(len, columns)) // COLUMNS_PER_ENTRY

    def shown(subject: Subject) -> Row:
        return only(render(subject), columns)

    asked = asked_by(request)
    if asked is not None:
        return await rows_for(asked, encoded_rows(request, subjects, shown, is_there, row_entries))
    page = None if name_of is None else Page.parse(query)
    chosen, total = await collected(request, subjects, *_wanted(page, name_of))
    first = 0 if page is None else page.first(len(chosen))
    ordered = iter(chosen) if order is None else await in_order(request, chosen, order)
    if query.get("sort"):
        path = _path(query["sort"])
        ordered = await by_column(
            request, ordered, render, lambda row: _rank(_at(row, path)), is_there
        )
        if query.get("sort_reverse") == "true":
            ordered = reversed((await collected(request, ordered))[0])
    if page is not None:
        await skip(request, ordered, first)
        ordered = islice(ordered, page.size)
    encoded = encoded_rows(request, ordered, shown, is_there, row_entries)
    if page is None:
        response = await _answered(encoded)
    else:
        rows = [row async for some in encoded for row in some]
        pieces = page.envelope(rows, filtered=len(chosen), total=total)
        response = _page_answered(request, pieces)
    response.headers.update(headers)
    return response


async def on_page(
    request: Request,
    subjects: Iterable[Subject],
    name_of: Callable[[Subject], str],
    order: Callable[[Subject], Any],
) -> list[Subject] | None:
    """Those of ``subjects`` that :func:`listed` would show; ``None`` where that takes the rows of
    all, or there are no pages. Raises :exc:`ApiError` 400 for a page that can't be."""
    page = Page.parse(request.query_params)
    if page is None or request.query_params.get("sort"):
        return None
    chosen, _ = await collected(request, subjects, *_wanted(page, name_of))
    first = page.first(len(chosen))
    ordered = await in_order(request, chosen, order)
    await skip(request, ordered, first)
    return list(islice(ordered, page.size))


def _wanted(
    page: Page | None, name_of: Callable[[Subject], str] | None
) -> tuple[Callable[[Subject], bool], Callable[[Subject], int]]:
    """A test of what a page shows of a list, names that its filter lets through, and its cost."""
    if page is None or page.shows is None or name_of is None:
        return everything, one_entry
    (shows, cost), name = page.shows, name_of
    return lambda subject: shows(name(subject)), lambda subject: cost(name(subject))


def stats_disabled(request: Request) -> bool:
    """True if the request wants objects without the columns that have to be counted for them."""
    return request.query_params.get("disable_stats") == "true"


def shown_columns(
    request: Request,
    row: Row,
    headers: Mapping[str, str] = MappingProxyType({}),
    always: Mapping[str, Any] = MappingProxyType({}),
) -> Response:
    """A single object, of which the request may want some columns only; those in ``always`` are
    there whatever it wants."""
    shown = only(row, _columns(request.query_params))
    return json_response({**shown, **always}, headers=headers)


async def shown_with(
    request: Request,
    row: Row,
    name: str,
    subjects: Iterable[Subject],
    render: Callable[[Subject], Row],
    is_there: Callable[[Subject], bool] = everything,
) -> Response:
    """A single object, with a column ``name`` that is a list and is made in portions. ``subjects``
    must stand still, as for :func:`listed`."""
    shown = only(row, _columns(request.query_params))
    if not wants_column(request, name):
        return json_response(shown)
    before = encode(shown)[:-1] + (b"," if shown else b"") + encode(name) + b":"
    return await _answered(encoded_rows(request, subjects, render, is_there), before, b"}")


def wants_column(request: Request, name: str) -> bool:
    """True if the request wants all columns, or names that one."""
    columns = _columns(request.query_params)
    return not columns or (name,) in columns


def only(row: Row, columns: Sequence[_Path]) -> Row:
    """The columns of a row that are wanted; all if none is named. ``a.b`` is b within a. A column
    that the row doesn't have leaves no trace."""
    if not columns:
        return row
    chosen: Row = {}
    for path in columns:
        source: Any = row
        for name in path:
            if not isinstance(source, dict):
                source = _NOTHING
                break
            source = source.get(name, _NOTHING)
        if source is _NOTHING:
            continue
        target: Any = chosen
        for name in path[:-1]:
            target = target.setdefault(name, {})
        target[path[-1]] = source
    return chosen


def _columns(query: QueryParams) -> list[_Path]:
    names = dict.fromkeys(query.get("columns", "").split(","))
    return [_path(name) for name in names if name]


def _path(name: str) -> _Path:
    return tuple(name.split("."))


def _at(row: Row, path: _Path) -> Any:
    value: Any = row
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
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


async def _answered(
    rows: AsyncIterator[list[bytes]], before: bytes = b"", after: bytes = b""
) -> Response:
    """The JSON array, between what else there is: whole where there is one portion of it, and as it
    is made where there are more."""
    first, second = await anext(rows, list[bytes]()), await anext(rows, None)
    if second is None and sum(map(len, first)) <= PIECE_BYTES:
        whole = b"".join((before, b"[", b",".join(first), b"]", after))
        return Response(whole, headers=NO_CACHE, media_type=MEDIA_TYPE)
    pieces = _array([first, second or []], rows, before, after)
    return StreamingResponse(pieces, headers=NO_CACHE, media_type=MEDIA_TYPE)


async def _array(
    known: Sequence[list[bytes]], rest: AsyncIterator[list[bytes]], before: bytes, after: bytes
) -> AsyncIterator[bytes]:
    yield before
    before = b"["
    for rows in known:
        for piece in _pieces(before, rows):
            yield piece
            before = b","
    async for rows in rest:
        for piece in _pieces(before, rows):
            yield piece
            before = b","
    yield (b"]" if before == b"," else b"[]") + after


def _pieces(before: bytes, rows: Sequence[bytes]) -> Iterator[bytes]:
    """The rows with what stands before them; none where there is no row. Those of a large message
    are cut: on its way a piece is copied several times."""
    joined = b",".join(rows)
    if len(joined) <= PIECE_BYTES:
        if rows:
            yield before + joined
        return
    yield before
    for start in range(0, len(joined), PIECE_BYTES):
        yield joined[start : start + PIECE_BYTES]


def _page_answered(request: Request, pieces: Sequence[bytes]) -> Response:
    if sum(map(len, pieces)) <= OCTETS:
        return Response(b"".join(pieces), headers=NO_CACHE, media_type=MEDIA_TYPE)
    return StreamingResponse(_paced(request, pieces), headers=NO_CACHE, media_type=MEDIA_TYPE)


async def _paced(request: Request, pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    """The pieces, a portion at a time: they may be compressed on their way."""
    portion, some = Portion(request), []
    for piece in pieces:
        some.append(piece)
        if portion.spend(1, len(piece)):
            yield b"".join(some)
            some = []
            await portion.end()
    yield b"".join(some)
