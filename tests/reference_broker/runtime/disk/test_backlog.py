"""The backlog's thread: answers come on the loop, and what is paged can always be read."""

from __future__ import annotations

import asyncio
import errno
import threading
from array import array
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns, Fetched
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk import backlog as module
from reference_broker.runtime.disk.backlog import Backlog
from reference_broker.runtime.disk.data_folder import DataFolder, FolderAccess
from reference_broker.runtime.process.worker import Worker
from reference_broker.store.disk.ports import DeleteFile, Operation, Write
from reference_broker.store.log.log import Log

pytestmark = pytest.mark.anyio

QUEUE = 7
WAIT_S = 20


class FaultyAccess(FolderAccess):
    """Fails page writes with ``error``, and so many reads because files are short (``busy``);
    ``threads`` are those that read."""

    error = 0
    busy = 0
    bug = False

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.threads: set[int] = set()

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        self.threads.add(threading.get_ident())
        if self.bug:
            raise ZeroDivisionError
        if self.busy:
            self.busy -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().read_range(file, offset, size_bytes)

    def perform(self, operation: Operation) -> None:
        if self.error and isinstance(operation, Write):
            raise OSError(self.error, "fault")
        super().perform(operation)


class Rig:
    """A log on a real disk, its backlog, and what the server would have been told."""

    def __init__(self, directory: Path) -> None:
        self.folder = DataFolder(directory)
        self.access = FaultyAccess(directory)
        self.index = QueueIndex()
        self.log = Log()
        self.log.attach(self)
        self.sync()
        self.answers: asyncio.Queue[Fetched | DiskFailed] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        worker = Worker("backlog", loop.call_soon_threadsafe)
        self.backlog = Backlog(self.log, self.access, worker, loop.call_later, self)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        yield from self.index.live_columns(queue_id, start, end)

    def fetched(self, answers: list[Fetched]) -> None:
        for answer in answers:
            self.answers.put_nowait(answer)

    def disk_failed(self, error: DiskFailed) -> None:
        self.answers.put_nowait(error)

    def sync(self) -> None:
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.folder.perform(operation)
            self.log.batch_synced(batch)

    def publish(self, sequence: int, body: bytes) -> int:
        content = Content(b"\0\1q", b"header", body)
        self.log.publish([Entry(QUEUE, sequence)], content)
        self.index.restore(sequence, content.position, len(body), content.stored)
        return content.position

    def page(self, body: bytes) -> int:
        return self.log.page(Content(b"\0\1q", b"header", body))

    async def read(self, *positions: int) -> list[bytes | None]:
        """Their bodies; sequences are counted from 0."""
        self.log.fetch(QUEUE, array("Q", range(len(positions))), array("q", positions))
        self.backlog.kick()
        return await self.answer()

    async def answer(self) -> list[bytes | None]:
        fetched = await asyncio.wait_for(self.answers.get(), WAIT_S)
        assert isinstance(fetched, Fetched)
        assert fetched.queue_id == QUEUE
        return [None if c is None else bytes(c.body) for _, c in fetched.contents]

    async def until(self, holds: object) -> None:
        """Give the thread and the loop their turns until ``holds()``."""
        assert callable(holds)
        async with asyncio.timeout(WAIT_S):
            while not holds():
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)

    @property
    def page_files(self) -> list[str]:
        return [file for file in self.folder.list_files() if file.endswith(".page")]


@pytest.fixture
async def rig(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.backlog.close()
    rig.folder.close()


async def test_messages_are_read_on_a_thread_and_answered_on_the_loop(rig: Rig) -> None:
    positions = [rig.publish(sequence, b"body %d" % sequence) for sequence in range(10)]
    rig.sync()
    assert await rig.read(*positions) == [b"body %d" % sequence for sequence in range(10)]
    assert rig.access.threads
    assert threading.get_ident() not in rig.access.threads


async def test_what_is_not_synced_is_answered_after_it_is(rig: Rig) -> None:
    position = rig.publish(0, b"body")
    rig.log.fetch(QUEUE, array("Q", [0]), array("q", [position]))
    rig.backlog.kick()
    assert len(rig.log.fetches) == 1
    rig.sync()
    rig.backlog.kick()
    assert await rig.answer() == [b"body"]


async def test_a_page_is_read_from_memory_and_then_from_its_file(rig: Rig) -> None:
    positions = [rig.page(b"page %d" % number) for number in range(3)]
    assert await rig.read(*positions) == [b"page 0", b"page 1", b"page 2"]
    await rig.until(lambda: not rig.log.pages.unwritten_bytes)
    assert len(rig.page_files) == 1
    assert await rig.read(*positions) == [b"page 0", b"page 1", b"page 2"]
    for position in positions:
        rig.log.unpage(position)
    rig.backlog.kick()
    await rig.until(lambda: not rig.page_files)


async def test_a_page_that_cannot_be_written_stays_in_memory_until_it_can(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAGE_RETRY_S", 0.0)
    rig.access.error = errno.ENOSPC
    position = rig.page(b"kept")
    rig.backlog.kick()
    await rig.until(lambda: rig.log.pages.stopped)
    assert "can't page" in caplog.text
    assert rig.page(b"not taken") == NOT_STORED
    assert await rig.read(position) == [b"kept"]
    rig.access.error = 0
    await rig.until(lambda: not rig.log.pages.unwritten_bytes)
    assert await rig.read(position) == [b"kept"]
    assert rig.page(b"taken") < NOT_STORED


async def test_damage_is_counted_said_and_known_to_the_log(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    positions = [rig.publish(sequence, b"body %d" % sequence) for sequence in range(3)]
    rig.sync()
    source = rig.log.source_of(positions[1])
    assert source is not None
    rig.folder.perform(Write(source.name.file, positions[1] + 20, [b"?"]))
    assert await rig.read(*positions) == [b"body 0", None, b"body 2"]
    assert rig.backlog.unreadable == 1
    assert f"message 1 of queue {QUEUE}" in caplog.text
    use = rig.log._liveness.find(positions[1])
    assert use is not None
    assert use.damaged


async def test_too_many_open_files_lose_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "READ_RETRY_S", 0)
    position = rig.publish(0, b"body")
    rig.sync()
    rig.access.busy = 5
    assert await rig.read(position) == [b"body"]
    assert rig.backlog.unreadable == rig.access.busy == 0
    assert "Too many open files" in caplog.text


async def test_a_file_that_somebody_took_away_is_damage(rig: Rig) -> None:
    position = rig.publish(0, b"body")
    rig.sync()
    source = rig.log.source_of(position)
    assert source is not None
    rig.folder.perform(DeleteFile(source.name.file))
    assert await rig.read(position) == [None]
    assert rig.backlog.unreadable == 1


async def test_an_error_that_nobody_foresaw_ends_the_broker(rig: Rig) -> None:
    position = rig.publish(0, b"body")
    rig.sync()
    rig.access.bug = True
    rig.log.fetch(QUEUE, array("Q", [0]), array("q", [position]))
    rig.backlog.kick()
    error = await asyncio.wait_for(rig.answers.get(), WAIT_S)
    assert isinstance(error, DiskFailed)
    assert "ZeroDivisionError" in str(error)


async def test_nothing_is_answered_after_the_end(rig: Rig) -> None:
    position = rig.publish(0, b"body")
    rig.sync()
    rig.log.fetch(QUEUE, array("Q", [0]), array("q", [position]))
    rig.backlog.kick()
    rig.backlog.close()
    rig.backlog.close()
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    assert rig.answers.empty()
