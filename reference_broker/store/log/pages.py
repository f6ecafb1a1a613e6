"""Pages: files for messages that the log doesn't have, when memory is short.

Transient messages and those of non-durable queues need not survive a stop, so nothing here is
synced, and what a start finds of it is deleted. Decisions only, as in the log: a batch of
operations is taken, somebody performs it, and reports how it went.

A message's *address* is a number of bytes that only grows, over all pages; its position is
``-2 - address``, which is below :data:`NOT_STORED`. A page is a file of consecutive addresses::

    <number>.page     message | message | ...
    message           route length u16 | header length u32 | body length u32 | crc u32
                      | route | header | body              the crc starts from the address

A message stays in memory until its page has it: a write that fails loses nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Disk, Operation, Piece, Write
from reference_broker.store.format.checksum import PREFERRED, ChecksumKind, checksum_of

PAGE_BYTES = 16 * 1024 * 1024
"""A page that is this long gets no further message. It is deleted when all of its messages are
gone, so a message that nobody takes holds no more than this (or its own size)."""

BATCH_BYTES = 4 * 1024 * 1024
"""Messages of one batch: reads that are wanted meanwhile wait for no more than this."""

UNWRITTEN_BYTES_MAX = 64 * 1024 * 1024
"""Messages that wait to be written: above this nothing more is taken, since taking it would free
no memory."""

PAGE_HEAD = struct.Struct(">HIII")
_PIECE_BYTES = 1024 * 1024
_SUFFIX = ".page"
_PREFIX = "pages-"
_MASK = 0xFFFFFFFF


class PagePlace(NamedTuple):
    """The place of a message on disk, and the seed of its checksum."""

    file: str
    offset: int
    seed: int
    checksum: ChecksumKind


@dataclass(slots=True)
class PageBatch:
    """Give it to :func:`write_pages`, and then to :meth:`Pages.written` or :meth:`Pages.failed`.
    ``operations`` are those that have not been performed yet."""

    operations: list[Operation]
    positions: list[int]


class _Page:
    __slots__ = ("base", "created", "file", "live", "size_bytes")

    def __init__(self, number: int, base: int) -> None:
        self.file = f"{_PREFIX}{number:08x}{_SUFFIX}"
        self.base = base
        self.size_bytes = 0
        self.live = 0
        """Its messages that are not gone."""
        self.created = False
        """A batch that makes the file was taken."""

    @property
    def end(self) -> int:
        return self.base + self.size_bytes


class Pages:
    """The messages that are paged, and what has to be done on the disk for them."""

    def __init__(self, *, checksum: ChecksumKind = PREFERRED, page_bytes: int = PAGE_BYTES) -> None:
        self.stopped = False
        """A write failed: nothing is taken until :meth:`retry`."""
        self.unwritten_bytes = 0
        self._checksum_kind = checksum
        self._checksum = checksum_of(checksum)
        self._page_bytes = page_bytes
        self._address = 0
        self._numbers = 0
        self._pages: list[_Page] = []
        self._bases: list[int] = []
        self._unwritten: dict[int, Content] = {}
        self._to_write: dict[int, Content] = {}
        self._to_delete: list[str] = []
        self._batch: PageBatch | None = None

    def append(self, content: Content) -> int:
        """Take a message; returns its position, or :data:`NOT_STORED` where it has to stay in
        memory. Release it once, by :meth:`release`."""
        if self.stopped or self.unwritten_bytes >= UNWRITTEN_BYTES_MAX:
            return NOT_STORED
        address = self._address
        page = self._pages[-1] if self._pages else None
        if page is None or page.end != address or page.size_bytes >= self._page_bytes:
            page = self._add_page(address)
        size = PAGE_HEAD.size + content.size
        page.size_bytes += size
        page.live += 1
        self._address = address + size
        position = -2 - address
        self._unwritten[position] = self._to_write[position] = content
        self.unwritten_bytes += content.size
        return position

    def release(self, position: int) -> None:
        """The message is gone; its page is deleted with its last one."""
        self._forget_unwritten(position)
        self._to_write.pop(position, None)
        index = bisect_right(self._bases, -2 - position) - 1
        page = self._pages[index]
        page.live -= 1
        if not page.live:
            del self._pages[index], self._bases[index]
            if page.created:
                self._to_delete.append(page.file)

    def find(self, position: int) -> Content | PagePlace | None:
        """The message itself while no page has it, else where it is; ``None`` when it is gone."""
        content = self._unwritten.get(position)
        if content is not None:
            return content
        address = -2 - position
        index = bisect_right(self._bases, address) - 1
        if index < 0:
            return None
        page = self._pages[index]
        if address >= page.end:
            return None
        return PagePlace(page.file, address - page.base, address & _MASK, self._checksum_kind)

    def take_batch(self) -> PageBatch | None:
        """The operations that are due on the disk; ``None`` when there are none, or while the batch
        before isn't written."""
        if self._batch is not None or not (self._to_write or self._to_delete):
            return None
        batch = PageBatch([DeleteFile(file) for file in self._to_delete], [])
        self._to_delete = []
        size = 0
        write: Write | None = None
        end = -1
        for position, content in self._to_write.items():
            address = -2 - position
            page = self._page_of(address)
            if write is None or address != end or write.file != page.file:
                if not page.created:
                    page.created = True
                    batch.operations.append(CreateFile(page.file, 0))
                write = Write(page.file, address - page.base, [])
                batch.operations.append(write)
            write.pieces += self._encoded(content, address)
            batch.positions.append(position)
            end = address + PAGE_HEAD.size + content.size
            size += content.size
            if size >= BATCH_BYTES:
                break
        for position in batch.positions:
            del self._to_write[position]
        self._batch = batch
        return batch

    def written(self, batch: PageBatch) -> None:
        """All operations of ``batch`` were performed: its messages are no longer in memory."""
        assert batch is self._batch
        self._batch = None
        for position in batch.positions:
            self._forget_unwritten(position)

    def failed(self, batch: PageBatch) -> None:
        """Some operations of ``batch`` were not performed. Its messages stay in memory, and no
        others are taken until :meth:`retry`."""
        assert batch is self._batch
        self.stopped = True

    def retry(self) -> PageBatch:
        """Take messages again, and begin with the batch that :meth:`failed`: perform it."""
        assert self._batch is not None
        self.stopped = False
        return self._batch

    def _add_page(self, base: int) -> _Page:
        self._numbers += 1
        page = _Page(self._numbers, base)
        self._pages.append(page)
        self._bases.append(base)
        return page

    def _page_of(self, address: int) -> _Page:
        return self._pages[bisect_right(self._bases, address) - 1]

    def _forget_unwritten(self, position: int) -> None:
        content = self._unwritten.pop(position, None)
        if content is not None:
            self.unwritten_bytes -= content.size

    def _encoded(self, content: Content, address: int) -> list[Piece]:
        route, header, body = content.route, content.header, memoryview(content.body)
        checksum = self._checksum(body, self._checksum(route + header, address & _MASK))
        head = PAGE_HEAD.pack(len(route), len(header), len(body), checksum) + route + header
        slices = range(0, len(body), _PIECE_BYTES)
        return [head, *(body[start : start + _PIECE_BYTES] for start in slices)]


def write_pages(disk: Disk, batch: PageBatch) -> OSError | None:
    """Perform what is left of ``batch``; the error is what stopped it, and doing so again goes on
    where it stopped."""
    operations = batch.operations
    while operations:
        try:
            disk.perform(operations[0])
        except OSError as error:
            if not (isinstance(operations[0], DeleteFile) and isinstance(error, FileNotFoundError)):
                return error
        del operations[0]
    return None


def discard_pages(disk: Disk) -> None:
    """Delete what an earlier process has left: nothing of it is wanted any more."""
    for file in disk.list_files():
        if file.startswith(_PREFIX) and file.endswith(_SUFFIX):
            disk.perform(DeleteFile(file))
