"""The rewriter: what is mostly dead gives its room back, and nothing that goes wrong is noticed."""

from __future__ import annotations

import asyncio
import errno
from array import array
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk import rewriter as module
from reference_broker.runtime.disk.data_folder import DataFolder, FolderAccess
from reference_broker.runtime.disk.rewriter import Looks, Rewriter
from reference_broker.runtime.process.worker import Worker
from reference_broker.store.disk.ports import Operation, Write
from reference_broker.store.format.segment import COPY_SUFFIX
from reference_broker.store.log.log import Log
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.testing.lone_log import LiveContents

pytestmark = pytest.mark.anyio

QUEUE = 7
SEGMENT_BYTES = 32 * 1024
WAIT_S = 20


class FaultyAccess(FolderAccess):
    """Fails what is asked of it with these."""

    write_error = 0
    read_error = 0

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        if self.read_error:
            raise OSError(self.read_error, "fault")
        return super().read_range(file, offset, size_bytes)

    def perform(self, operation: Operation) -> None:
        if self.write_error and isinstance(operation, Write):
            raise OSError(self.write_error, "fault")
        super().perform(operation)


class Rig:
    """A log of many segments, of which one message each is alive, and its rewriter."""

    def __init__(self, directory: Path) -> None:
        self.folder = DataFolder(directory)
        self.access = FaultyAccess(directory)
        self.log = Log(segment_bytes=SEGMENT_BYTES)
        self.live = LiveContents()
        self.log.attach(self.live)
        loop = asyncio.get_running_loop()
        copying = Worker("rewrite", loop.call_soon_threadsafe)
        looks = Looks(interval_s=0.0)
        self.rewriter = Rewriter(self.log, self.access, copying, loop.call_later, self.sync, looks)
        self.sync()
        for sequence in range(1000):
            content = self.live[sequence] = Content(b"\0\1q", b"header", b"%d" % sequence * 50)
            self.log.publish([Entry(QUEUE, sequence)], content)
        self.sync()
        for sequence in range(1000):
            if sequence % 100:
                content = self.live.pop(sequence)
                self.log.ack(QUEUE, sequence, content.position, content.stored)

    def sync(self) -> None:
        """Do the disk thread's work, at once."""
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.folder.perform(operation)
            self.log.batch_synced(batch)
            self.rewriter.synced()

    def size_bytes(self) -> int:
        files = [file for file in self.folder.list_files() if file.endswith(".segment")]
        return sum(self.folder.size(file) for file in files)

    @property
    def copies(self) -> list[str]:
        return [file for file in self.folder.list_files() if file.endswith(COPY_SUFFIX)]

    async def until(self, holds: object) -> None:
        assert callable(holds)
        async with asyncio.timeout(WAIT_S):
            while not holds():
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)

    def check_live(self) -> None:
        positions = array("q", [content.position for content in self.live.values()])
        self.log.fetch(QUEUE, array("Q", self.live), positions)
        (job,) = take_reads(self.log)
        fetched, unreadable = perform(self.folder, job)
        assert unreadable == []
        bodies = {sequence: c.body for sequence, c in fetched.contents if c is not None}
        assert bodies == {sequence: content.body for sequence, content in self.live.items()}


@pytest.fixture
async def rig(
    anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Rig]:
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    rig = Rig(tmp_path)
    yield rig
    rig.rewriter.close()
    rig.folder.close()


async def test_room_is_given_back_and_what_is_alive_can_be_read(rig: Rig) -> None:
    before = rig.size_bytes()
    assert before > 5 * SEGMENT_BYTES
    rig.sync()
    await rig.until(lambda: rig.size_bytes() <= 2 * SEGMENT_BYTES)
    assert rig.rewriter.rewrites
    await rig.until(lambda: rig.copies == [])  # the next one may be on its way
    rig.check_live()


async def test_a_full_disk_leaves_no_copy_and_it_is_tried_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.access.write_error = errno.ENOSPC
    rig.sync()
    await rig.until(lambda: "can't be written" in caplog.text)
    await rig.until(lambda: rig.copies == [])  # it is tried again at once, in its thread
    rig.check_live()
    rig.access.write_error = 0
    await rig.until(lambda: rig.size_bytes() <= 2 * SEGMENT_BYTES)
    rig.check_live()


async def test_a_source_that_cannot_be_read_is_left_as_it_is(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.access.read_error = errno.EIO
    rig.sync()
    await rig.until(lambda: "it is not rewritten" in caplog.text)
    rig.access.read_error = 0
    assert any(use.damaged for use in rig.log._liveness)
    await rig.until(lambda: rig.rewriter.rewrites)
    rig.check_live()


async def test_a_stop_drops_what_is_under_way(rig: Rig) -> None:
    rig.sync()
    await rig.until(lambda: rig.rewriter._plan is not None)
    rig.rewriter.close()
    rig.rewriter.close()
    assert rig.log.begin_rewrite() is not None, "the log would begin it anew"
    rig.check_live()
