"""Reading back: what was logged or paged comes as it was, wherever it is by now."""

from __future__ import annotations

import errno
import random
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.store.disk.ports import CreateFile, DeleteFile, Write
from reference_broker.store.format.read_window import GAP_BYTES, READ_BYTES
from reference_broker.store.format.record import CHUNK_BYTES
from reference_broker.store.log.log import Log
from reference_broker.store.log.pages import write_pages
from reference_broker.store.log.reading import (
    FileGone,
    ReadJob,
    ReadOutcome,
    lost,
    perform,
    plan,
    take_reads,
)
from reference_broker.store.rewrite.rewrite import build
from reference_broker.testing.lone_log import LiveContents

QUEUE = 7
ROUTE, HEADER = b"\x01x\x01q", b"a header"


class CountingFolder(DataFolder):
    """Counts reads, and fails those that cover ``bad`` (file, offset) with ``error``."""

    error = errno.EIO

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.reads: list[tuple[int, int]] = []
        self.bad: tuple[str, int] | None = None

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        self.reads.append((offset, size_bytes))
        if self.bad is not None:
            bad_file, at = self.bad
            if file == bad_file and offset <= at < offset + size_bytes:
                raise OSError(self.error, "fault")
        return super().read_range(file, offset, size_bytes)


class Store:
    """A log on a real disk, and what is alive in its one queue."""

    def __init__(self, folder: CountingFolder, segment_bytes: int = 1 << 20) -> None:
        self.folder = folder
        self.log = Log(segment_bytes=segment_bytes)
        self.live = LiveContents()
        self.log.attach(self.live)
        self.sync()

    def publish(self, sequence: int, body: bytes, queues: int = 1) -> Content:
        content = self.live[sequence] = Content(ROUTE, HEADER, body)
        self.log.publish([Entry(QUEUE + n, sequence) for n in range(queues)], content)
        return content

    def ack(self, sequence: int) -> None:
        content = self.live.pop(sequence)
        self.log.ack(QUEUE, sequence, content.position, content.stored)

    def sync(self) -> None:
        while (batch := self.log.take_batch()) is not None:
            for operation in batch.operations:
                self.folder.perform(operation)
            self.log.batch_synced(batch)

    def fetch(self, *contents: tuple[int, int]) -> None:
        """Of (sequence, position)."""
        sequences = array("Q", [sequence for sequence, _ in contents])
        self.log.fetch(QUEUE, sequences, array("q", [position for _, position in contents]))

    def fetch_live(self) -> None:
        self.fetch(*((sequence, content.position) for sequence, content in self.live.items()))

    def job(self) -> ReadJob:
        (job,) = take_reads(self.log)
        self.folder.reads.clear()
        return job

    def read_live(self) -> ReadOutcome:
        self.fetch_live()
        outcome = perform(self.folder, self.job())
        self.check(outcome)
        return outcome

    def check(self, outcome: ReadOutcome, *, lost: tuple[int, ...] = ()) -> None:
        """All of it came as it was published, but for ``lost``."""
        assert outcome.fetched.queue_id == QUEUE
        assert [sequence for sequence, _ in outcome.fetched.contents] == list(self.live)
        assert [each.sequence for each in outcome.unreadable] == list(lost)
        for sequence, content in outcome.fetched.contents:
            if sequence in lost:
                assert content is None
            else:
                self.check_content(content, self.live[sequence])

    @staticmethod
    def check_content(content: Content | None, original: Content) -> None:
        assert content is not None
        assert (content.route, content.header) == (original.route, original.header)
        assert content.body == original.body
        assert (content.position, content.stored) == (original.position, original.stored)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[CountingFolder]:
    folder = CountingFolder(tmp_path)
    yield folder
    folder.close()


def body_of(sequence: int, size: int = 100) -> bytes:
    return random.Random(sequence).randbytes(size)


def test_messages_of_a_row_come_in_one_read(folder: CountingFolder) -> None:
    store = Store(folder)
    for sequence in range(500):
        store.publish(sequence, body_of(sequence))
    store.sync()
    store.read_live()
    assert len(folder.reads) == 1


def test_reads_are_bounded(folder: CountingFolder) -> None:
    store = Store(folder, segment_bytes=8 << 20)
    for sequence in range(500):
        store.publish(sequence, body_of(sequence, 10_000))
    store.sync()
    store.read_live()
    assert 5 <= len(folder.reads) <= 8
    assert max(size for _, size in folder.reads) <= READ_BYTES


def test_what_lies_far_apart_is_read_by_itself(folder: CountingFolder) -> None:
    store = Store(folder, segment_bytes=8 << 20)
    for sequence in range(400):
        store.publish(sequence, body_of(sequence, 10_000))
    for sequence in range(400):
        if sequence % 100:
            del store.live[sequence]
    store.sync()
    store.read_live()
    assert len(folder.reads) == 4
    assert max(size for _, size in folder.reads) <= GAP_BYTES


@pytest.mark.parametrize(
    "size", [0, 1, GAP_BYTES, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 7]
)
def test_bodies_of_any_size(folder: CountingFolder, size: int) -> None:
    store = Store(folder)
    for sequence in range(3):
        store.publish(sequence, body_of(sequence, size))
        store.publish(sequence + 100, b"between")
    store.sync()
    store.read_live()
    assert max(length for _, length in folder.reads) <= READ_BYTES


def test_order_is_that_of_the_request(folder: CountingFolder) -> None:
    store = Store(folder, segment_bytes=4096)
    for sequence in range(50):
        store.publish(sequence, body_of(sequence))
    asked = {sequence: store.live[sequence] for sequence in (40, 3, 41, 4, 2, 49, 0)}
    store.live.clear()
    store.live.update(asked)
    store.sync()
    store.read_live()


def test_several_queues_share_what_is_accounted(folder: CountingFolder) -> None:
    store = Store(folder)
    content = store.publish(1, body_of(1, 3 * CHUNK_BYTES), queues=3)
    store.sync()
    assert content.stored * 3 < 3 * CHUNK_BYTES + 500
    store.read_live()


def test_a_moved_message(folder: CountingFolder) -> None:
    store = Store(folder)
    old = store.publish(1, b"body")
    moved = store.live[2] = Content(b"\x00\x03dlq", b"another header", old.body)
    store.log.move(QUEUE, 1, old.position, old.stored, [Entry(QUEUE, 2)], moved)
    del store.live[1]
    store.sync()
    store.read_live()


def test_what_is_not_on_disk_yet_is_waited_for(folder: CountingFolder) -> None:
    store = Store(folder)
    early = store.publish(1, b"early")
    store.sync()
    late = store.publish(2, b"late")
    store.fetch((1, early.position), (2, late.position))
    store.fetch((1, early.position))
    (job,) = take_reads(store.log)
    assert list(job.request.sequences) == [1]
    assert take_reads(store.log) == []
    store.sync()
    (job,) = take_reads(store.log)
    store.check(perform(folder, job))
    assert store.log.fetches == []


def test_pages_and_log_in_one_request(folder: CountingFolder) -> None:
    store = Store(folder)
    store.publish(1, b"logged")
    bodies = {2: b"", 3: b"paged", 4: body_of(4, 3 * GAP_BYTES), 5: b"only in memory"}
    positions = {}
    for sequence, body in bodies.items():
        if sequence == 5:
            batch = store.log.pages.take_batch()
            assert batch is not None
            assert write_pages(folder, batch) is None
            store.log.pages.written(batch)
        positions[sequence] = store.log.page(Content(ROUTE, HEADER, body))
    store.sync()
    store.fetch((1, store.live[1].position), *positions.items())
    fetched, unreadable = perform(folder, store.job())
    assert unreadable == []
    assert [sequence for sequence, _ in fetched.contents] == [1, 2, 3, 4, 5]
    for sequence, content in fetched.contents[1:]:
        assert content is not None
        assert (content.route, content.header) == (ROUTE, HEADER)
        assert content.body == bodies[sequence]


def test_a_flipped_bit_takes_its_own_message_and_no_other(folder: CountingFolder) -> None:
    store = Store(folder)
    for sequence in range(6):
        store.publish(sequence, body_of(sequence, 3 * CHUNK_BYTES if sequence == 4 else 500))
    store.sync()
    for sequence, at in ((1, 0), (2, 100), (4, 2 * CHUNK_BYTES)):
        place = store.log.source_of(0)
        assert place is not None
        offset = store.live[sequence].position + at
        byte = folder.read_range(place.name.file, offset, 1)[0]
        folder.perform(Write(place.name.file, offset, [bytes([byte ^ 16])]))
    store.fetch_live()
    outcome = perform(folder, store.job())
    store.check(outcome, lost=(1, 2, 4))
    assert [each.position for each in outcome.unreadable] == [
        store.live[sequence].position for sequence in (1, 2, 4)
    ]


def test_a_flipped_bit_in_a_page(folder: CountingFolder) -> None:
    store = Store(folder)
    positions = [store.log.page(Content(ROUTE, HEADER, b"paged")) for _ in range(2)]
    batch = store.log.pages.take_batch()
    assert batch is not None
    assert write_pages(folder, batch) is None
    store.log.pages.written(batch)
    (file,) = [file for file in folder.list_files() if file.endswith(".page")]
    folder.perform(Write(file, 20, [b"?"]))
    store.fetch((1, positions[0]), (2, positions[1]))
    fetched, unreadable = perform(folder, store.job())
    assert fetched.contents[0] == (1, None)
    assert fetched.contents[1][1] is not None
    assert [each.sequence for each in unreadable] == [1]


def test_a_bad_sector_takes_its_own_message_and_no_other(folder: CountingFolder) -> None:
    store = Store(folder)
    for sequence in range(20):
        store.publish(sequence, body_of(sequence, 500))
    store.sync()
    source = store.log.source_of(0)
    assert source is not None
    folder.bad = (source.name.file, store.live[7].position + 300)
    store.fetch_live()
    outcome = perform(folder, store.job())
    store.check(outcome, lost=(7,))
    assert "fault" in outcome.unreadable[0].reason


def test_a_file_that_ends_too_early(folder: CountingFolder) -> None:
    store = Store(folder)
    for sequence in range(3):
        store.publish(sequence, body_of(sequence, 500))
    store.sync()
    source = store.log.source_of(0)
    assert source is not None
    data = folder.read(source.name.file)[: store.live[2].position + 100]
    folder.perform(CreateFile(source.name.file, 0))
    folder.perform(Write(source.name.file, 0, [data]))
    store.fetch_live()
    store.check(perform(folder, store.job()), lost=(2,))


def test_a_segment_that_was_rewritten_meanwhile_is_read_in_its_new_file(
    folder: CountingFolder,
) -> None:
    store = Store(folder, segment_bytes=64 * 1024)
    for sequence in range(1000):
        store.publish(sequence, body_of(sequence, 300))
    store.sync()
    for sequence in range(1000):
        if sequence % 50:
            store.ack(sequence)
    store.sync()
    store.fetch_live()
    job = store.job()
    plans = 0
    while (rewrite := store.log.begin_rewrite()) is not None:
        store.log.finish_rewrite(rewrite, build(rewrite, folder))
        store.sync()
        plans += 1
    assert plans
    with pytest.raises(FileGone):
        perform(folder, job)
    again = plan(job.request, store.log, frozenset({"any"}))
    assert len(again.parts) < len(job.parts)
    store.check(perform(folder, again))


def test_a_file_that_somebody_took_away_is_damage(folder: CountingFolder) -> None:
    store = Store(folder)
    store.publish(1, b"x")
    store.sync()
    source = store.log.source_of(0)
    assert source is not None
    folder.perform(DeleteFile(source.name.file))
    store.fetch_live()
    job = store.job()
    with pytest.raises(FileGone) as caught:
        perform(folder, job)
    again = plan(job.request, store.log, frozenset({caught.value.file}))
    store.check(perform(folder, again), lost=(1,))


def test_what_was_settled_meanwhile_is_answered_and_is_no_damage(folder: CountingFolder) -> None:
    store = Store(folder)
    position = store.log.page(Content(ROUTE, HEADER, b"x"))
    store.log.unpage(position)
    store.fetch((1, position), (2, 10**12))
    store.log.synced = 10**12 + 1
    outcome = perform(folder, store.job())
    assert outcome.fetched.contents == [(1, None), (2, None)]
    assert outcome.unreadable == []


def test_what_a_rewriting_left_out_because_it_was_settled_is_no_damage(
    folder: CountingFolder,
) -> None:
    store = Store(folder, segment_bytes=64 * 1024)
    for sequence in range(400):
        store.publish(sequence, body_of(sequence, 300))
    store.sync()
    store.fetch_live()
    request = store.job().request
    for sequence in range(400):
        if sequence % 50 != 49:  # The first one of each segment is left out as well.
            store.ack(sequence)
    store.sync()
    while (rewrite := store.log.begin_rewrite()) is not None:
        store.log.finish_rewrite(rewrite, build(rewrite, folder))
        store.sync()
    outcome = perform(folder, plan(request, store.log, frozenset({"any"})))
    for sequence, content in outcome.fetched.contents:
        if sequence in store.live:
            store.check_content(content, store.live[sequence])
    assert outcome.unreadable
    assert lost(store.log, outcome) == []
    assert not any(use.damaged for use in store.log._liveness)


def test_an_error_that_is_not_the_mediums_loses_nothing(folder: CountingFolder) -> None:
    store = Store(folder)
    content = store.publish(1, b"x" * 100)
    store.sync()
    source = store.log.source_of(content.position)
    assert source is not None
    store.fetch_live()
    job = store.job()
    folder.bad, folder.error = (source.name.file, content.position), errno.EMFILE
    with pytest.raises(OSError, match="fault"):
        perform(folder, job)
    folder.bad = None
    store.check(perform(folder, job))


@pytest.mark.parametrize("seed", range(4))
def test_any_history(folder: CountingFolder, seed: int) -> None:
    print(f"seed={seed}")
    rng = random.Random(seed)
    store = Store(folder, segment_bytes=32 * 1024)
    for sequence in range(600):
        store.publish(sequence, rng.randbytes(int(rng.expovariate(1 / 700))))
        while store.live and rng.random() < 0.45:
            store.ack(rng.choice(list(store.live)))
        if rng.random() < 0.05:
            store.sync()
        if rng.random() < 0.05 and (rewrite := store.log.begin_rewrite()) is not None:
            store.log.finish_rewrite(rewrite, build(rewrite, folder))
        if rng.random() < 0.05 and store.live:
            store.sync()
            store.read_live()
    store.sync()
    store.read_live()
