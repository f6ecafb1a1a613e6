"""Walks over many objects for one request, in portions: between two of them the request waits for
its next place in the loop.

A portion ends by what was done in it: entries that were looked at, and octets of JSON that were
made. So a row that somebody has made large (by its arguments, or by a history of 500 samples)
counts for what it is.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, TypeVar

from starlette.requests import Request

from reference_broker.http.request.answer import Row, encode
from reference_broker.http.request.turn_share import next_turn

ENTRIES = 1_000
"""Entries of a portion: an object that is looked at, compared or copied. About 1 ms."""

ROW_ENTRIES = 20
"""Entries that a rendered row counts for: fifty rows of queues take 1 to 2 ms."""

OCTETS = 64 * 1024
"""Octets of JSON in a portion: some eighty rows of queues."""

TEXT_CHARACTERS = 64 * 1024
"""A text of a row that is longer is encoded in slices of this length."""

Item = TypeVar("Item")


class Portion:
    """The portion of work that a request is at."""

    __slots__ = ("_entries", "_octets", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._entries = ENTRIES
        self._octets = OCTETS

    def spend(self, entries: int, octets: int = 0) -> bool:
        """Note work that was done. True when the portion is spent: then :meth:`end` it."""
        self._entries -= entries
        self._octets -= octets
        return self._entries <= 0 or self._octets <= 0

    async def end(self) -> None:
        """Wait for the request's next place in the loop, where another portion begins."""
        self._entries, self._octets = ENTRIES, OCTETS
        await next_turn(self._request)


def everything(subject: object) -> bool:
    """True: for lists of what can't go while it is listed."""
    return True


def one_entry(subject: object) -> int:
    """The cost of a test that is cheap."""
    return 1


async def collected(
    request: Request,
    items: Iterable[Item],
    wanted: Callable[[Item], bool] = everything,
    cost: Callable[[Item], int] = one_entry,
) -> tuple[list[Item], int]:
    """The items that are wanted, and how many there are in all. ``cost`` is how many entries the
    test of an item counts for."""
    portion, found, count = Portion(request), [], 0
    for item in items:
        count += 1
        if wanted(item):
            found.append(item)
        if portion.spend(cost(item)):
            await portion.end()
    return found, count


async def in_order(
    request: Request, items: Iterable[Item], key: Callable[[Item], Any]
) -> Iterator[Item]:
    """The items by ascending key; those of one key keep their order. ``key`` is cheap: for one that
    is not see :func:`by_column`."""
    portion, runs, run = Portion(request), [], []
    for number, item in enumerate(items):
        run.append((key(item), number, item))
        if portion.spend(1):
            runs.append(_sorted(run))
            run = []
            await portion.end()
    return _merged([*runs, _sorted(run)])


async def by_column(
    request: Request,
    items: Iterable[Item],
    render: Callable[[Item], Row],
    rank: Callable[[Row], Any],
    is_there: Callable[[Item], bool] = everything,
) -> Iterator[Item]:
    """The items that are still there by ascending rank of their rows; those of one rank keep their
    order. Rows are not kept: a hundred thousand would be some hundred MiB."""
    portion, runs, run = Portion(request), [], []
    for number, item in enumerate(items):
        octets = 0
        if is_there(item):
            row = render(item)
            octets = len(encode(row))
            run.append((rank(row), number, item))
        if portion.spend(ROW_ENTRIES, octets):
            runs.append(_sorted(run))
            run = []
            await portion.end()
    return _merged([*runs, _sorted(run)])


async def skip(request: Request, items: Iterator[object], count: int) -> None:
    """Take so many items off an iterator."""
    portion = Portion(request)
    for _ in range(count):
        next(items, None)
        if portion.spend(1):
            await portion.end()


async def stepped(request: Request, steps: Iterator[object], entries: int = ROW_ENTRIES) -> None:
    """Take all of the steps, each of which counts for so many entries."""
    portion = Portion(request)
    for _ in steps:
        if portion.spend(entries):
            await portion.end()


async def taken_apart(request: Request, lists: Iterable[list[Any]]) -> None:
    """Empty lists that nobody needs any more. To free a million objects at once takes as long as a
    collection of garbage."""
    for each in lists:
        while each:
            del each[-ENTRIES:]
            await next_turn(request)


async def encoded_rows(
    request: Request,
    items: Iterable[Item],
    render: Callable[[Item], Row],
    is_there: Callable[[Item], bool] = everything,
    row_entries: int = ROW_ENTRIES,
) -> AsyncGenerator[list[bytes], None]:
    """The items' rows in JSON, a portion of them at a time, without those that are gone. A row
    counts for ``row_entries``."""
    portion = Portion(request)
    rows: list[bytes] = []
    for item in items:
        octets = 0
        if is_there(item):
            row = render(item)
            if _is_long(row):
                if rows:
                    yield rows
                rows = [b"".join([piece async for piece in _encoded_long(portion, row)])]
            else:
                rows.append(encode(row))
            octets = len(rows[-1])
        if portion.spend(row_entries, octets):
            yield rows
            rows = []
            await portion.end()
    if rows:
        yield rows


def _is_long(row: Mapping[str, Any]) -> bool:
    return any(isinstance(each, str) and len(each) > TEXT_CHARACTERS for each in row.values())


async def _encoded_long(portion: Portion, row: Row) -> AsyncIterator[bytes]:
    """The JSON of a row, its long texts in slices."""
    before = b"{"
    for name, value in row.items():
        yield before + encode(name) + b":"
        before = b","
        if not isinstance(value, str):
            yield encode(value)
            continue
        yield b'"'
        for start in range(0, len(value), TEXT_CHARACTERS):
            piece = encode(value[start : start + TEXT_CHARACTERS])[1:-1]
            yield piece
            if portion.spend(0, len(piece)):
                await portion.end()
        yield b'"'
    yield b"}"


def _sorted(run: list[tuple[Any, int, Item]]) -> list[tuple[Any, int, Item]]:
    run.sort(key=itemgetter(0, 1))
    return run


def _merged(runs: list[list[tuple[Any, int, Item]]]) -> Iterator[Item]:
    merged = runs[0] if len(runs) == 1 else heapq.merge(*runs, key=itemgetter(0, 1))
    return (item for _, _, item in merged)
