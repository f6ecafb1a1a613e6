"""Foreign ranges of the segment in use: the room they take, and acks in a row."""

from __future__ import annotations

import pytest

from reference_broker.core.message.content import Content
from reference_broker.store.format.footer import FOOTER_RANGE_BYTES, FOREIGN_RANGES_ROOM
from reference_broker.store.format.record import RANGE_BYTES
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.log.foreign_ranges_by_segment import ForeignRangesBySegment
from reference_broker.store.rewrite.rewrite import build
from reference_broker.testing.lone_log import opened, pump, sequences

QUEUE = 7


class Books:
    """Two sealed segments of 100 bytes, all of it live, and the one in use."""

    def __init__(self) -> None:
        self.liveness = Liveness()
        self.first, self.second = self._sealed(0), self._sealed(100)
        self.active = self.liveness.add(SegmentUse(SegmentName(200, 1), 100))
        self.foreign_ranges = ForeignRangesBySegment(self.liveness, self.active)

    def _sealed(self, base: int) -> SegmentUse:
        use = self.liveness.add(SegmentUse(SegmentName(base, 1), 100))
        use.live_bytes = 100
        self.liveness.seal(use, base + 100, 100, capacity_bytes=100)
        return use


@pytest.fixture
def books() -> Books:
    return Books()


def test_room_is_asked_for_a_segment_once_and_for_each_range(books: Books) -> None:
    foreign_ranges = books.foreign_ranges
    assert foreign_ranges.ack(books.first, QUEUE, 1) == FOREIGN_RANGES_ROOM + FOOTER_RANGE_BYTES
    assert foreign_ranges.ack(books.first, QUEUE, 2) == 0
    assert foreign_ranges.ack(books.first, QUEUE, 9) == FOOTER_RANGE_BYTES
    assert foreign_ranges.requeue(books.first, QUEUE, 10) == FOOTER_RANGE_BYTES
    assert (
        foreign_ranges.requeue(books.second, QUEUE, 11) == FOREIGN_RANGES_ROOM + FOOTER_RANGE_BYTES
    )
    assert books.active.references == {0: 3 * RANGE_BYTES, 100: RANGE_BYTES}
    assert books.first.referenced_by == {200: books.active}


def test_the_footer_has_what_is_still_there(books: Books) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    books.foreign_ranges.ack(books.second, QUEUE, 2)
    books.liveness.removed([books.first])
    assert list(books.foreign_ranges.ranges()) == [100]


def test_a_row_adds_to_the_ranges_and_settles(books: Books) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    references = dict(books.active.references)
    open_range = [QUEUE, 1, 1]
    row = books.foreign_ranges.row(books.first, open_range)
    assert row.goes_on(QUEUE, 2, 50, 10)
    assert row.goes_on(QUEUE, 3, 60, 10)
    assert open_range == [QUEUE, 1, 3]
    assert books.first.live_bytes == 80
    assert books.active.references == references
    assert books.foreign_ranges.ack(books.first, QUEUE, 4) == 0, "the foreign knows it as well"


def test_a_row_goes_on_with_many_up_to_the_first_that_is_elsewhere(books: Books) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    open_range = [QUEUE, 1, 1]
    row = books.foreign_ranges.row(books.first, open_range)
    contents = [Content(b"", b"", b"", position, 10) for position in (50, 60, 150, 70)]
    assert row.go_on(QUEUE, 2, contents) == 2
    assert open_range == [QUEUE, 1, 3]
    assert books.first.live_bytes == 80


@pytest.mark.parametrize(
    ("queue_id", "sequence", "position"),
    [(QUEUE + 1, 2, 50), (QUEUE, 3, 50), (QUEUE, 1, 50), (QUEUE, 2, 100), (QUEUE, 2, 250)],
)
def test_what_is_not_the_next_of_a_row(
    books: Books, queue_id: int, sequence: int, position: int
) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    open_range = [QUEUE, 1, 1]
    row = books.foreign_ranges.row(books.first, open_range)
    assert not row.goes_on(queue_id, sequence, position, 10)
    assert open_range == [QUEUE, 1, 1]
    assert books.first.live_bytes == books.second.live_bytes == 100


def test_a_row_that_the_ranges_went_past_is_over(books: Books) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    row = books.foreign_ranges.row(books.first, [QUEUE, 1, 1])
    books.foreign_ranges.ack(books.first, QUEUE, 2)
    assert not row.goes_on(QUEUE, 2, 50, 10)


def test_the_end_of_a_row_may_be_that_of_its_segment(books: Books) -> None:
    books.foreign_ranges.ack(books.first, QUEUE, 1)
    row = books.foreign_ranges.row(books.first, [QUEUE, 1, 1])
    assert row.goes_on(QUEUE, 2, 50, 100)
    assert books.liveness.take_dead() == [books.first]


def test_a_row_goes_on_in_the_next_record() -> None:
    log, disk, queues = opened(segment_bytes=8192)
    for _ in range(60):
        queues.publish(300)
    for _ in range(3):
        queues.ack()
        queues.ack()
        queues.publish(300)  # ends the record of the acks
        queues.ack()
    pump(log, disk)
    assert sequences(disk) == list(range(10, 64))


@pytest.mark.parametrize("finished", [False, True])
def test_acks_in_a_row_while_their_segment_is_rewritten(finished: bool) -> None:
    """Acks after the plan are in no new file, so they are ranges again; acks after the new file is
    in its place are counted there."""
    log, disk, queues = opened(segment_bytes=8192)
    for _ in range(60):
        queues.publish(300)
    pump(log, disk)
    for _ in range(33):  # all of the first segment, most of the second
        queues.ack()
    plan = log.begin_rewrite()
    assert plan is not None
    queues.ack()
    (source,) = plan.sources
    assert any(source.name.base in use.references for use in log._liveness)
    pump(log, disk)
    if finished:
        log.finish_rewrite(plan, build(plan, disk))
    else:
        log.abandon_rewrite(plan)
    while (batch := log.take_batch()) is not None and len(queues.indexes[7]) > 22:
        queues.ack()
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
        queues.ack()
    assert finished == any(use.extents is not None for use in log._liveness)
    for use in log._liveness:
        if use.sealed:
            live = queues.live_entries(7, use.base, use.end)
            assert use.live_bytes == sum(sum(columns.stored) for columns in live)
    if batch is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    pump(log, disk)
    assert sequences(disk) == list(range(61 - len(queues.indexes[7]), 61))
