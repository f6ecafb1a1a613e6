"""Lists with the rows of all nodes: sorted, filtered and cut into pages where the client asks.

A row of another node stays JSON until it is shown: what a list knows of it is its name, and its
place in the list's own order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.http.request.answer import Row
from reference_broker.http.request.listing import listed
from reference_broker.http.request.peers import (
    CUT,
    Gathered,
    Peers,
    asks_others,
    gathered,
    named_header,
    query_without,
    unreachable_header,
)
from reference_broker.http.request.portions import ROW_ENTRIES, Portion, everything

Subject = TypeVar("Subject")

OF_THE_LIST = ("page", "page_size", "name", "use_regex", "sort", "sort_reverse", "columns")
"""Parameters of a query about the list as a whole, which is made where the client asked."""

PASSED_COLUMNS_MAX = 2_000
"""Characters of the columns that others are asked for; of more they send all."""


class PeerRow:
    """A row of another node. ``octets`` are its JSON, ``name`` is what a page is filtered by, and
    ``place`` is comparable with those of the list's other rows."""

    __slots__ = ("name", "octets", "place")

    def __init__(self, octets: bytes, name: str, place: Any) -> None:
        self.octets = octets
        self.name = name
        self.place = place

    def row(self) -> Row:
        """The row."""
        found: Row = json.loads(self.octets)
        return found


class Order(NamedTuple):
    """A list's own order: how to find the name and the place of a row, and the columns that have
    them."""

    columns: Sequence[str]
    name: Callable[[Row], str]
    place: Callable[[Row], Any]


BY_NAME = Order(("name",), lambda row: row["name"], lambda row: row["name"])


class Answered(NamedTuple):
    """The rows of the nodes that were asked, and those that gave none; those in ``cut`` gave a
    part."""

    rows: list[PeerRow]
    unreachable: list[str]
    cut: list[str]
    answered: list[str]
    """The nodes that have what the path names."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that say whose rows are missing."""
        return {**unreachable_header(self.unreachable), **named_header(CUT, self.cut)}


NOBODY = Answered([], [], [], [])
"""Nobody was asked."""


async def rows_of_others(
    request: Request,
    peers: Peers,
    order: Order,
    nodes: Sequence[str] | None = None,
    only: Sequence[tuple[str, str]] | None = None,
    query: Sequence[tuple[str, str]] | None = None,
) -> Answered:
    """The rows that the other nodes, or ``nodes``, have for the list that is asked for, or for
    ``only`` these objects by virtual host and name. ``query`` takes the place of the list's own."""
    asked = peers.others if nodes is None else nodes
    wanted = _query(request, order) if query is None else query
    found = await gathered(request, peers, asked, wanted, only)
    return await _taken(request, found, order)


def _query(request: Request, order: Order) -> list[tuple[str, str]]:
    """The query of a list of others: with the columns that the list is made by."""
    query = query_without(request, *OF_THE_LIST)
    columns = request.query_params.get("columns", "")
    if columns and len(columns) <= PASSED_COLUMNS_MAX:
        sort = request.query_params.get("sort", "")
        names = filter(None, [*columns.split(","), *order.columns, sort])
        query.append(("columns", ",".join(names)))
    return query


async def _taken(request: Request, found: Gathered, order: Order) -> Answered:
    portion = Portion(request)
    taken = Answered([], list(found.unreachable), [], [])
    for node, answer in found.answers.items():
        rows: list[PeerRow] = []
        try:
            if answer.head["status"] == HTTPStatus.NOT_FOUND:
                continue
            if answer.head["status"] != HTTPStatus.OK:
                taken.unreachable.append(node)
                continue
            for octets in _lines(answer.body):
                row = json.loads(octets)
                rows.append(PeerRow(octets, order.name(row), order.place(row)))
                if portion.spend(ROW_ENTRIES, len(octets)):
                    await portion.end()
            is_cut = answer.head["cut"]
        except (KeyError, TypeError, ValueError, RecursionError):
            taken.unreachable.append(node)  # of another version
            continue
        taken.rows.extend(rows)
        taken.answered.append(node)
        if is_cut:
            taken.cut.append(node)
    return taken


def _lines(body: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        yield body[start:end]
        start = end + 1


class Own(NamedTuple, Generic[Subject]):
    """The part of this node in a list (:func:`~reference_broker.http.request.listing.listed`)."""

    subjects: Iterable[Subject]
    render: Callable[[Subject], Row]
    name_of: Callable[[Subject], str] | None
    place: Callable[[Subject], Any]
    is_there: Callable[[Subject], bool] = everything


async def listed_everywhere(
    request: Request, peers: Peers | None, own: Own[Any], order: Order
) -> Response:
    """The list of what all nodes have, as the request wants to see it."""
    asked = asks_others(request, peers)
    if asked is None:
        return await listed(request, own.subjects, own.render, own.name_of, own.place, own.is_there)
    return await listed_with_others(request, own, await rows_of_others(request, asked, order))


async def listed_with_others(
    request: Request,
    own: Own[Any],
    others: Answered,
    render_other: Callable[[PeerRow], Row] = PeerRow.row,
) -> Response:
    """The list of what this node and the others have, whose rows ``render_other`` makes."""
    return await listed(
        request,
        chain(own.subjects, others.rows),
        lambda each: render_other(each) if isinstance(each, PeerRow) else own.render(each),
        None if own.name_of is None else _either(own.name_of, lambda row: row.name),
        _either(own.place, lambda row: row.place),
        lambda each: isinstance(each, PeerRow) or own.is_there(each),
        others.headers,
    )


def _either(
    of_own: Callable[[Any], Any], of_peer: Callable[[PeerRow], Any]
) -> Callable[[Any], Any]:
    return lambda each: of_peer(each) if isinstance(each, PeerRow) else of_own(each)
