"""Small real folders: a log as a broker drives it, on a disk in memory that can be damaged."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pytest

from mqkit.wire import Properties, encode_header, encode_shortstr
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue, queue_key
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.store.disk.ports import (
    CreateFile,
    CreateSpare,
    DeleteFile,
    Operation,
    RenameFile,
    TruncateFile,
    Write,
)
from reference_broker.store.doctor.contents import look, stored_messages
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.start.opening import open_log

SEGMENT_BYTES = 1293
ROUTE = encode_shortstr("flights") + encode_shortstr("late")
A, B = 7, 8

Messages: TypeAlias = dict[tuple[int, int], bytes]
"""Body by queue id and sequence."""


class PowerCut(Exception):
    """Before the operation after the last one that is lived through."""


class MemoryDisk:
    """A :class:`~reference_broker.store.disk.ports.Disk` whose every write is durable at once."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = {file: bytearray(data) for file, data in files.items()}
        self.performed = 0
        self.lives = 1 << 60

    @property
    def segments(self) -> list[str]:
        return sorted(file for file in self.files if file.endswith(".segment"))

    def copy(self, lives: int = 1 << 60) -> MemoryDisk:
        other = MemoryDisk({file: bytes(data) for file, data in self.files.items()})
        other.lives = lives
        return other

    def flip(self, file: str, offset: int, bit: int = 0) -> None:
        self.files[file][offset] ^= 1 << bit

    def list_files(self) -> Sequence[str]:
        return list(self.files)

    def read(self, file: str) -> bytes:
        return bytes(self._data(file))

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        return bytes(self._data(file)[offset : offset + size_bytes])

    def size(self, file: str) -> int:
        return len(self._data(file))

    def free_bytes(self) -> int:
        return 1 << 40

    def close(self) -> None:
        """Nothing is held."""

    def perform(self, operation: Operation) -> None:
        if self.performed == self.lives:
            raise PowerCut
        self.performed += 1
        match operation:
            case CreateFile(file, size_bytes) | CreateSpare(file, size_bytes):
                self.files[file] = bytearray(size_bytes)
            case Write(file, offset, pieces):
                data, written = self._data(file), b"".join(pieces)
                data.extend(bytes(max(0, offset + len(written) - len(data))))
                data[offset : offset + len(written)] = written
            case TruncateFile(file, size_bytes):
                del self._data(file)[size_bytes:]
            case RenameFile(file, new):
                self.files[new] = self.files.pop(file)
            case DeleteFile(file):
                del self.files[file]

    def _data(self, file: str) -> bytearray:
        if file not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", file)
        return self.files[file]


class Store:
    """A log and the indexes of its queues, which are what a broker would have."""

    def __init__(self, disk: MemoryDisk, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.disk = disk
        self.log, recovered = open_log(disk, segment_bytes=segment_bytes)
        self.indexes = {queue_id: levels[0] for queue_id, levels in recovered.queues.items()}
        self.log.attach(self)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from self.indexes[queue_id].live_columns(queue_id, start, end)

    def define(self, queue_id: int, name: str) -> None:
        definition = QueueDefinition(queue_id, name, auto_delete=False, arguments={})
        self.log.define(queue_key("/", name), encode_queue(definition))

    def content(self, body: bytes) -> Content:
        return Content(ROUTE, encode_header(len(body), Properties(headers={"hop": 1})), body)

    def publish(self, body: bytes, *queue_ids: int, expires_at_ms: int = 0) -> None:
        content = self.content(body)
        indexes = [self._index(queue_id) for queue_id in queue_ids]
        self.log.publish(
            [
                Entry(queue_id, index.tail, expires_at_ms)
                for queue_id, index in zip(queue_ids, indexes, strict=True)
            ],
            content,
        )
        for index in indexes:
            index.append(content.position, len(body), content.stored, expires_at_ms)

    def ack(self, queue_id: int, *sequences: int) -> None:
        for sequence in sequences:
            position, stored = self.indexes[queue_id].forget(sequence) or (0, 0)
            self.log.ack(queue_id, sequence, position, stored)

    def move(self, queue_id: int, sequence: int, to: int, body: bytes) -> None:
        source, target, content = self.indexes[queue_id], self._index(to), self.content(body)
        position, _, stored, _ = source.entry(sequence)
        self.log.move(queue_id, sequence, position, stored, [Entry(to, target.tail)], content)
        source.forget(sequence)
        target.append(content.position, len(body), content.stored)

    def sync(self) -> None:
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.disk.perform(operation)
            self.log.batch_synced(batch)

    def rewrite(self) -> None:
        """All that is worth it."""
        while (plan := self.log.begin_rewrite()) is not None:
            self.log.finish_rewrite(plan, build(plan, self.disk))
            self.sync()

    def close(self) -> None:
        self.log.close()
        self.sync()

    def _index(self, queue_id: int) -> QueueIndex:
        return self.indexes.setdefault(queue_id, QueueIndex(1))


def history(store: Store) -> None:
    """Five segments with everything in them: fan-outs, acks across segments, a move, and a
    rewriting. The last one is open."""
    store.define(A, "a")
    store.define(B, "b")
    for number in range(12):
        store.publish(b"to one %d " % number + b"x" * 50, A)
        store.publish(b"to both %d " % number + b"y" * 20, A, B)
        store.sync()
    store.ack(A, *range(1, 9))
    store.sync()
    store.ack(B, 2, 5)
    store.move(A, 11, B, b"moved")
    store.sync()
    store.rewrite()
    store.publish(b"z" * 100, B, expires_at_ms=1 << 41)
    store.sync()


def messages(disk: MemoryDisk) -> Messages:
    """The bodies that can be read."""
    return {
        (found.queue_id, found.sequence): bytes(found.content.body)
        for found in stored_messages(disk, look(disk))
        if found.content is not None
    }


@pytest.fixture
def new_store() -> Callable[..., Store]:
    """Opens a disk in memory, or an empty one."""
    return lambda disk=None, **options: Store(disk or MemoryDisk({}), **options)


@pytest.fixture
def read_back() -> Callable[[MemoryDisk], Messages]:
    return messages


@pytest.fixture(scope="session")
def _histories() -> dict[bool, MemoryDisk]:
    disks = {}
    for is_open in (True, False):
        store = Store(MemoryDisk({}))
        history(store)
        if not is_open:
            store.close()
        disks[is_open] = store.disk
    return disks


@pytest.fixture
def closed_disk(_histories: dict[bool, MemoryDisk]) -> MemoryDisk:
    """After a clean stop."""
    return _histories[False].copy()


@pytest.fixture
def open_disk(_histories: dict[bool, MemoryDisk]) -> MemoryDisk:
    """After a crash."""
    return _histories[True].copy()
