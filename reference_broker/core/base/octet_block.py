"""A block of octets that grows at its end, and is never copied as a whole.

    parts of a large message --append--> | heap, up to 4 MiB | pages of its own --> whole(): a view

A ``bytearray`` that grows is copied whenever its place in the heap has no room behind it, and a
heap in which many messages were has holes for any size: 128 MiB took the loop 41 ms there, between
two frames. Pages of its own grow where they are, or the system moves them without a copy, and they
go back to it with the block.
"""

from __future__ import annotations

import mmap
import sys

HEAP_BYTES_MAX = 4 * 1024 * 1024
"""A block up to this is the heap's: to move so much takes 2 ms."""

_GROWTH = 8
"""Pages are added for an eighth of what is there: each time may be a move of all of them."""

_CAN_MAP = sys.platform == "linux"
"""Elsewhere pages can't be added to others, and a block is the heap's however large it is."""

Octets = bytes | bytearray | memoryview


class OctetBlock:
    """The octets that were appended so far; ``len`` says how many. There is no room for what was
    not: nothing is taken from the system on a peer's word."""

    __slots__ = ("_heap", "_pages", "_size")

    def __init__(self) -> None:
        self._heap = bytearray()
        self._pages: mmap.mmap | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, part: Octets) -> None:
        """Copy ``part`` to the end. Not after :meth:`whole`."""
        end = self._size + len(part)
        if end <= HEAP_BYTES_MAX or not _CAN_MAP:
            self._heap += part
        else:
            pages = self._pages_for(end)
            pages[self._size : end] = part
        self._size = end

    def whole(self) -> bytearray | memoryview:
        """The block: nothing may be appended, and nobody may change it, from now on."""
        if self._pages is None:
            return self._heap
        return memoryview(self._pages)[: self._size].toreadonly()

    def _pages_for(self, size: int) -> mmap.mmap:
        """Pages for so many octets, with those that there are already."""
        pages = self._pages
        if pages is None:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            pages = self._pages = mmap.mmap(-1, size + size // _GROWTH, flags=flags)
            pages[: self._size] = self._heap
            self._heap = bytearray()
        elif size > len(pages):
            pages.resize(size + size // _GROWTH)
        return pages
