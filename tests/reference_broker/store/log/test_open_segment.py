"""The segment in use: its file as it grows, and the footer that it would get."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.store.disk.ports import CreateFile, Sync, SyncDirectory, Write
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentState, SegmentUse
from reference_broker.store.log.open_segment import OpenSegment

BASE = 1000
TAIL = BASE + 500


class OneQueue:
    """The indexes of queue 7: a message in the segment, and one behind its end."""

    def __init__(self) -> None:
        self.index = QueueIndex(1)
        self.index.append(BASE + HEADER_BYTES, 10, 100)
        self.index.append(TAIL, 10, 100)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        if queue_id == 7:
            yield from self.index.live_columns(queue_id, start, end)


def nobody() -> OneQueue:
    raise AssertionError("no queue has a message in it")


@pytest.fixture
def liveness() -> Liveness:
    liveness = Liveness()
    old = liveness.add(SegmentUse(SegmentName(0, 1), BASE))
    liveness.seal(old, BASE, BASE, capacity_bytes=BASE)
    return liveness


@pytest.fixture
def segment(liveness: Liveness) -> OpenSegment:
    return OpenSegment(liveness.add(SegmentUse(SegmentName(BASE, 1), 4096)), liveness)


def test_its_file_is_durable_before_a_record_is_written(segment: OpenSegment) -> None:
    file = segment.use.name.file
    creation = CreateFile(file, 4096)
    header = bytes(HEADER_BYTES)
    expected = [creation, Write(file, 0, [header]), Sync(file), SyncDirectory()]
    assert segment.create(creation, header) == expected


def test_each_write_begins_where_the_one_before_it_ended(segment: OpenSegment) -> None:
    file = segment.use.name.file
    first = segment.write([b"a" * 30], BASE + HEADER_BYTES + 30)
    second = segment.write([b"b" * 5, b"c"], BASE + HEADER_BYTES + 36)
    assert first == Write(file, HEADER_BYTES, [b"a" * 30])
    assert second == Write(file, HEADER_BYTES + 30, [b"b" * 5, b"c"])


def test_an_untouched_segment_has_a_footer_without_asking_for_entries(
    segment: OpenSegment,
) -> None:
    segment.note(BASE + 80)
    segment.note(BASE + 200)
    footer = segment.footer(RecordType.CLOSED, 3, nobody, TAIL)
    assert (footer.end, footer.epoch, footer.groups) == (RecordType.CLOSED, 3, [])
    assert list(footer.notes) == [80, 200]


def test_its_footer_lists_what_is_alive_in_it_and_what_it_acks_elsewhere(
    segment: OpenSegment, liveness: Liveness
) -> None:
    queues = OneQueue()
    segment.touched |= {7: None, 8: None}
    segment.foreign_ranges.ack(liveness.segments[0], 9, 5)
    footer = segment.footer(RecordType.SEALED, 1, lambda: queues, TAIL)
    (group,) = footer.groups
    assert (group.queue_id, list(group.sequences)) == (7, [1])
    assert footer.foreign_ranges[0].acked == [(9, 5, 5)]


def test_a_seal_hands_its_books_over(segment: OpenSegment, liveness: Liveness) -> None:
    segment.touched |= {9: None, 7: None}
    segment.live_bytes = 300
    segment.seal(TAIL)
    use = segment.use
    assert use.state is SegmentState.SEALED
    assert (use.end, use.size_bytes, use.capacity_bytes) == (TAIL, 500, 500)
    assert (use.live_bytes, list(use.touched)) == (300, [9, 7])
    assert liveness.find(TAIL - 1) is use
    assert liveness.find(TAIL) is None
