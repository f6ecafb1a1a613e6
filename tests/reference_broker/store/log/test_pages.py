"""Pages: messages that memory has no room for, on a real disk and off it again."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Operation, Write
from reference_broker.store.format.checksum import checksum_of
from reference_broker.store.log import pages as module
from reference_broker.store.log.pages import PAGE_HEAD, PagePlace, Pages, discard_pages, write_pages

ROUTE = b"\x01x\x01q"
HEADER = b"header"
OVERHEAD = PAGE_HEAD.size + len(ROUTE) + len(HEADER)


class FailingFolder(DataFolder):
    """Fails the operations of one kind with ``error``, while there is one."""

    error = 0
    kind: type[Operation] = Write

    def perform(self, operation: Operation) -> None:
        if self.error and isinstance(operation, self.kind):
            raise OSError(self.error, "fault")
        super().perform(operation)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[FailingFolder]:
    folder = FailingFolder(tmp_path)
    yield folder
    folder.close()


def message(body: bytes) -> Content:
    return Content(ROUTE, HEADER, body)


def files(folder: DataFolder) -> list[str]:
    return sorted(file for file in folder.list_files() if file.endswith(".page"))


def write(folder: DataFolder, pages: Pages) -> None:
    while (batch := pages.take_batch()) is not None:
        assert write_pages(folder, batch) is None
        pages.written(batch)


def body_at(folder: DataFolder, place: object) -> bytes:
    assert isinstance(place, PagePlace)
    head = folder.read_range(place.file, place.offset, PAGE_HEAD.size)
    route, header, body, checksum = PAGE_HEAD.unpack(head)
    data = folder.read_range(place.file, place.offset + PAGE_HEAD.size, route + header + body)
    assert checksum_of(place.checksum)(data, place.seed) == checksum
    assert data.startswith(ROUTE + HEADER)
    return data[route + header :]


def test_a_message_is_in_memory_until_its_page_has_it(folder: DataFolder) -> None:
    pages = Pages()
    content = message(b"body")
    position = pages.append(content)
    assert position < NOT_STORED
    assert pages.find(position) is content
    batch = pages.take_batch()
    assert batch is not None
    assert pages.find(position) is content
    assert pages.unwritten_bytes == content.size
    assert write_pages(folder, batch) is None
    pages.written(batch)
    assert pages.unwritten_bytes == 0
    assert body_at(folder, pages.find(position)) == b"body"
    assert pages.take_batch() is None


def test_one_batch_at_a_time_and_what_comes_meanwhile_is_the_next(folder: DataFolder) -> None:
    pages = Pages()
    first = pages.append(message(b"1"))
    batch = pages.take_batch()
    second = pages.append(message(b"22"))
    assert pages.take_batch() is None
    assert batch is not None
    assert write_pages(folder, batch) is None
    pages.written(batch)
    write(folder, pages)
    assert [body_at(folder, pages.find(position)) for position in (first, second)] == [b"1", b"22"]
    assert len(files(folder)) == 1


def test_a_page_goes_with_its_last_message(folder: DataFolder) -> None:
    pages = Pages(page_bytes=3 * (OVERHEAD + 10))
    positions = [pages.append(message(bytes(10))) for _ in range(7)]
    write(folder, pages)
    assert len(files(folder)) == 3
    for position in positions[:3]:
        pages.release(position)
    write(folder, pages)
    assert len(files(folder)) == 2
    assert pages.find(positions[0]) is None
    pages.release(positions[6])
    write(folder, pages)
    assert len(files(folder)) == 1
    late = pages.append(message(b"late"))
    write(folder, pages)
    assert body_at(folder, pages.find(late)) == b"late"
    assert len(files(folder)) == 2


def test_what_is_gone_before_it_was_written_is_never_written(folder: DataFolder) -> None:
    pages = Pages()
    kept, gone, also_kept = (pages.append(message(body)) for body in (b"a", bytes(1000), b"b"))
    pages.release(gone)
    write(folder, pages)
    assert body_at(folder, pages.find(kept)) == b"a"
    assert body_at(folder, pages.find(also_kept)) == b"b"
    pages.release(kept)
    pages.release(also_kept)
    pages.release(pages.append(message(b"c")))
    write(folder, pages)
    assert files(folder) == []


def test_a_message_larger_than_a_page_and_an_empty_one(folder: DataFolder) -> None:
    pages = Pages(page_bytes=100)
    body = random.Random(1).randbytes(3 * 1024 * 1024 + 5)
    large, empty = pages.append(message(body)), pages.append(message(b""))
    write(folder, pages)
    assert body_at(folder, pages.find(large)) == body
    assert body_at(folder, pages.find(empty)) == b""
    assert len(files(folder)) == 2


@pytest.mark.parametrize("kind", [CreateFile, Write])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_loses_nothing(
    folder: FailingFolder, kind: type[Operation], error: int
) -> None:
    pages = Pages()
    content = message(b"body")
    position = pages.append(content)
    batch = pages.take_batch()
    assert batch is not None
    folder.error, folder.kind = error, kind
    failure = write_pages(folder, batch)
    assert failure is not None
    assert failure.errno == error
    pages.failed(batch)
    assert pages.stopped
    assert pages.find(position) is content
    assert pages.append(message(b"more")) == NOT_STORED
    assert pages.take_batch() is None

    folder.error = 0
    again = pages.retry()
    assert write_pages(folder, again) is None
    pages.written(again)
    assert body_at(folder, pages.find(position)) == b"body"
    assert pages.append(message(b"more")) < NOT_STORED


def test_a_page_that_somebody_else_deleted_is_no_error(folder: DataFolder) -> None:
    pages = Pages()
    position = pages.append(message(b"x"))
    write(folder, pages)
    (file,) = files(folder)
    folder.perform(DeleteFile(file))
    pages.release(position)
    write(folder, pages)


def test_no_more_is_taken_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNWRITTEN_BYTES_MAX", 1000)
    pages = Pages()
    taken = 0
    while pages.append(message(bytes(100))) != NOT_STORED:
        taken += 1
    assert pages.unwritten_bytes >= 1000
    assert taken == 10


def test_a_batch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", 1000)
    pages = Pages()
    for _ in range(100):
        pages.append(message(bytes(100)))
    batch = pages.take_batch()
    assert batch is not None
    assert len(batch.positions) == 10


def test_a_start_deletes_what_an_earlier_process_left(folder: DataFolder) -> None:
    pages = Pages()
    pages.append(message(b"x"))
    write(folder, pages)
    folder.perform(CreateFile("other.page.txt", 1))
    discard_pages(folder)
    assert sorted(folder.list_files()) == ["lock", "other.page.txt"]


@pytest.mark.parametrize("seed", range(5))
def test_any_history_keeps_what_is_live_and_nothing_else(folder: DataFolder, seed: int) -> None:
    print(f"seed={seed}")
    rng = random.Random(seed)
    pages = Pages(page_bytes=2000)
    live: dict[int, bytes] = {}
    for _ in range(400):
        if rng.random() < 0.55 or not live:
            body = rng.randbytes(rng.randrange(300))
            live[pages.append(message(body))] = body
        else:
            position = rng.choice(list(live))
            del live[position]
            pages.release(position)
        if rng.random() < 0.2:
            write(folder, pages)
    write(folder, pages)
    for position, body in live.items():
        assert body_at(folder, pages.find(position)) == body
    for position in list(live):
        pages.release(position)
    write(folder, pages)
    assert files(folder) == []
