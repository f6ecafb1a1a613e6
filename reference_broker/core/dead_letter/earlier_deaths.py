"""The tables of an x-death as octets: is a queue in them, and in which.

A message that was in a thousand queues has a thousand tables, and each hop asks about two queues.
So the first question is a search for octets that every table of a queue has. Only where they are
found, tables are looked at one by one: the octets may be part of another value.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from mqkit.wire import WireError, decode_table
from reference_broker.core.message.header_table import value_end
from reference_broker.core.queue.death import DeathReason
from reference_broker.errors import ConnectionException

SEARCHES_MAX = 8
"""Queues that are searched for in the octets. For whoever asks about more, a set is made: with a
thousand tables a search takes 25 us, and the set 2 ms."""

_TABLE = ord("F")
_LONGSTR = ord("S")
_HEAD_BYTES = 5
"""The tag and the length of a table or a longstr."""
_REJECTED = DeathReason.REJECTED.encode()

UNREADABLE = (ConnectionException, WireError, IndexError, struct.error)
"""Raised for a table that is none."""


class EarlierDeath(NamedTuple):
    """A table of x-death: where it is in the content header, its tag included, and decoded."""

    start: int
    end: int
    table: dict[str, Any]


class EarlierDeaths:
    """The tables from ``start`` to ``end`` of the content header ``header``, newest first."""

    __slots__ = ("_header", "_left", "_searches", "end", "start")

    def __init__(self, header: bytes, start: int, end: int) -> None:
        self._header = header
        self._left: set[bytes] | None = None
        self._searches = 0
        self.start = start
        self.end = end

    def has_left(self, queue: str) -> bool:
        """Has the message left ``queue`` by itself, and no consumer rejected it since or then?"""
        if self._left is None:
            self._searches += 1
            if self._searches <= SEARCHES_MAX and self._search(queue, self.start) < 0:
                return False
            self._left = self._left_since_rejection()
        return queue.encode(errors="surrogateescape") in self._left

    def of(self, queue: str, reason: DeathReason) -> list[EarlierDeath]:
        """The tables of ``queue`` and ``reason``: one at most, but where clients wrote more.

        Raises one of :data:`UNREADABLE` where a table before the last of them can't be read.
        """
        found = []
        at = self.start
        mentioned = self._search(queue, at)
        while mentioned >= 0:
            start, at = at, value_end(self._header, at)
            if at <= mentioned:
                continue
            mentioned = self._search(queue, at)
            if self._header[start] == _TABLE:
                table = decode_table(self._header, start + 1, exact=True)[0]
                if table.get("queue") == queue and table.get("reason") == reason:
                    found.append(EarlierDeath(start, at, table))
        return found

    def _search(self, queue: str, start: int) -> int:
        """The next place of the entry that names ``queue``, be it one or look like one."""
        name = queue.encode(errors="surrogateescape")
        entry = b"\x05queueS%b%b" % (len(name).to_bytes(4, "big"), name)
        return self._header.find(entry, start, self.end)

    def _left_since_rejection(self) -> set[bytes]:
        left: set[bytes] = set()
        at = self.start
        try:
            while at < self.end:
                start, at = at, value_end(self._header, at)
                if self._header[start] != _TABLE:
                    continue
                queue, reason = _queue_and_reason(self._header, start + _HEAD_BYTES, at)
                if reason == _REJECTED:
                    break
                left.add(queue)
        except UNREADABLE:
            pass  # a history ends where it can't be read
        return left


def _queue_and_reason(header: bytes, at: int, end: int) -> tuple[bytes, bytes]:
    """The two longstrs of the table whose entries are from ``at`` to ``end``; each empty where it
    is missing, or is no longstr. Of entries with the same name the first counts."""
    names: dict[bytes, bytes] = {}
    while at < end:
        value = at + 1 + header[at]
        name = header[at + 1 : value]
        at = value_end(header, value)
        if name in (b"queue", b"reason"):
            text = header[value + _HEAD_BYTES : at] if header[value] == _LONGSTR else b""
            names.setdefault(name, text)
    return names.get(b"queue", b""), names.get(b"reason", b"")
