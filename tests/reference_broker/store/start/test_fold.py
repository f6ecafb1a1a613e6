"""Folding segments: entries and their books, by records and by footers, and what a gap costs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.store.format import record
from reference_broker.store.format.footer import Footer, Ranges
from reference_broker.store.format.record import RANGE_BYTES, RecordType
from reference_broker.store.format.scan import Found, Gap
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.liveness.losses import LEAST_MESSAGE_BYTES
from reference_broker.store.start.fold import Fold, chunks_end

A, B = 7, 8
SEGMENT_BYTES = 10_000_000


def use_at(fold: Fold, number: int) -> SegmentUse:
    """The segment of this number, open in the books of ``fold``."""
    base = number * SEGMENT_BYTES
    use = fold.liveness.add(SegmentUse(SegmentName(base, 1), SEGMENT_BYTES))
    use.end = base + SEGMENT_BYTES
    return use


def laid_out(use: SegmentUse, payloads: Sequence[bytes]) -> list[Found | Gap]:
    """Records, one behind the other, from the header on."""
    found: list[Found | Gap] = []
    position = use.base + HEADER_BYTES
    for payload in payloads:
        found.append(Found(position, memoryview(payload)))
        position = found[-1].end
    return found


def scan(fold: Fold, number: int, *payloads: bytes) -> SegmentUse:
    use = use_at(fold, number)
    fold.scanned(laid_out(use, payloads), use, exact=False)
    return use


def publish(*entries: tuple[int, int], body: bytes = b"body") -> bytes:
    content = Content(b"", b"", body)
    head = record.encode_publish_head([Entry(*entry) for entry in entries], 1, content)
    return head + (body if len(body) <= record.CHUNK_BYTES else b"")


def ack(*ranges: tuple[int, int, int]) -> bytes:
    return record.encode_ranges(RecordType.ACK, 1, ranges)


def requeue(*ranges: tuple[int, int, int]) -> bytes:
    return record.encode_ranges(RecordType.REQUEUE, 1, ranges)


def states(fold: Fold, queue_id: int) -> dict[int, EntryState]:
    index = fold.queues[queue_id][0]
    found = {sequence: index.state_of(sequence) for sequence in range(1, index.tail)}
    return {sequence: state for sequence, state in found.items() if state is not EntryState.GONE}


@pytest.fixture
def fold() -> Fold:
    return Fold()


def test_a_fan_out_enters_each_queue_and_its_bytes_are_shared(fold: Fold) -> None:
    use = scan(fold, 0, publish((A, 1), (B, 1)), publish((A, 2)))
    assert (list(states(fold, A)), list(states(fold, B))) == ([1, 2], [1])
    payloads = len(publish((A, 1), (B, 1))), len(publish((A, 2)))
    both, one = (record.FRAME_BYTES + length for length in payloads)
    assert use.live_bytes == 2 * (both // 2) + one
    assert list(use.touched) == [A, B]


def test_an_ack_in_the_same_segment_is_no_reference(fold: Fold) -> None:
    use = scan(fold, 0, publish((A, 1)), ack((A, 1, 1)))
    assert states(fold, A) == {}
    assert (use.live_bytes, use.references) == (0, {})


def test_an_ack_elsewhere_is_a_reference_and_frees_the_message(fold: Fold) -> None:
    first = scan(fold, 0, publish((A, 1)), publish((A, 2)), publish((A, 3)))
    second = scan(fold, 1, ack((A, 1, 2), (A, 9, 9), (B, 1, 1)))
    assert list(states(fold, A)) == [3]
    assert first.live_bytes == record.FRAME_BYTES + len(publish((A, 3)))
    assert second.references == {first.base: RANGE_BYTES}
    assert list(fold.foreign_ranges[first.base].acked) == [(A, 1, 2)]


def test_a_requeue_marks_what_no_header_calls_redelivered(fold: Fold) -> None:
    first = scan(fold, 0, publish((A, 1)), publish((A, 2)))
    fold.redelivered_below = first.base + HEADER_BYTES + 1
    second = scan(fold, 1, requeue((A, 1, 9)))
    assert states(fold, A) == {1: EntryState.READY, 2: EntryState.REDELIVERED}
    assert list(fold.foreign_ranges[first.base].requeued) == [(A, 2, 2)]
    assert second.references == {first.base: RANGE_BYTES}


def test_a_move_is_gone_there_and_here_instead(fold: Fold) -> None:
    first = scan(fold, 0, publish((A, 1)))
    content = Content(b"", b"", b"moved")
    scan(fold, 1, record.encode_move_head(A, 1, 1, [Entry(B, 1)], content) + b"moved")
    assert (states(fold, A), list(states(fold, B))) == ({}, [1])
    assert first.live_bytes == 0


def test_an_entry_before_a_later_one_of_its_queue_is_misplaced(fold: Fold) -> None:
    use = scan(fold, 0, publish((A, 5)), publish((A, 4)))
    assert list(states(fold, A)) == [5]
    assert fold.damage.misplaced == 1
    assert use.live_bytes == record.FRAME_BYTES + len(publish((A, 5)))


def test_definitions_and_the_census_are_those_that_were_logged_last(fold: Fold) -> None:
    scan(fold, 0, record.encode_define("old", b"1"), record.encode_start(4, True))
    scan(
        fold,
        1,
        record.encode_definitions({"kept": b"2"}),
        record.encode_define("new", b"3"),
        record.encode_bases(RecordType.CENSUS, [0, 5, 9]),
        record.encode_bases(RecordType.REMOVED, [5]),
    )
    assert fold.definitions.values == {"kept": b"2", "new": b"3"}
    assert (fold.epoch, list(fold.census)) == (4, [0, 9])
    assert [use.defines for use in fold.liveness] == [False, True]


def columns(queue_id: int, sequences: Sequence[int], positions: Sequence[int]) -> EntryColumns:
    count = len(sequences)
    fours, states = array("I", [4] * count), bytes(count)
    return EntryColumns(
        queue_id, array("Q", sequences), array("q", positions), fours, fours, states, None
    )


def test_a_footer_is_the_same_as_its_records(fold: Fold) -> None:
    """Also in its order: an entry that came back and was acked later is gone."""
    first, second = use_at(fold, 0), use_at(fold, 1)
    places = [HEADER_BYTES + 50 * number for number in range(3)]
    fold.footer(Footer(RecordType.SEALED, 3, groups=[columns(A, [1, 2, 3], places)]), [], first)
    ranges = Ranges(acked=[(A, 1, 1)], requeued=[(A, 1, 2)])
    fold.footer(Footer(RecordType.SEALED, 6, foreign_ranges={0: ranges}), [], second)
    assert states(fold, A) == {2: EntryState.REDELIVERED, 3: EntryState.READY}
    assert (first.live_bytes, list(first.touched), fold.epoch) == (8, [A], 6)
    assert second.references == {0: 2 * RANGE_BYTES}


def test_a_gap_costs_no_more_messages_than_it_has_room_for(fold: Fold) -> None:
    use = use_at(fold, 0)
    (first,) = laid_out(use, [publish((A, 1))])
    gap = Gap(first.end, first.end + 2 * LEAST_MESSAGE_BYTES)
    items = [first, gap, Found(gap.end, memoryview(publish((A, 9))))]
    fold.scanned(items, use, exact=False)
    assert fold.losses.counts() == {A: 2}
    assert use.damaged
    assert fold.damage.quarantined_bytes == gap.end - gap.start
    assert fold.damage.damaged_files == [use.name.file]


def test_with_a_sound_footer_the_losses_are_exact(fold: Fold) -> None:
    use = use_at(fold, 0)
    (first,) = laid_out(use, [publish((A, 1))])
    gap = Gap(first.end, first.end + 5000)
    items = [first, gap, Found(gap.end, memoryview(publish((A, 9))))]
    fold.scanned(items, use, exact=True)
    fold.compare(Footer(RecordType.SEALED, 1, groups=[columns(A, [1, 5, 9, 10], [0, 0, 0, 0])]))
    assert fold.losses.counts() == {A: 2}


@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_a_message_without_all_of_its_chunks_is_quarantined(fold: Fold, chunks: int) -> None:
    body = bytes(record.CHUNK_BYTES + 5)
    parts = [body[: record.CHUNK_BYTES], body[record.CHUNK_BYTES :]][:chunks]
    use = scan(
        fold, 0, publish((A, 1), body=body), *(record.CHUNK_PAYLOAD + part for part in parts)
    )
    complete = chunks == 2
    assert (A in fold.queues, fold.losses.counts()) == (complete, {} if complete else {A: 1})
    assert use.damaged != complete
    assert (use.live_bytes > len(body)) == complete


def test_chunks_count_only_where_they_follow_their_message_without_a_gap(fold: Fold) -> None:
    use = use_at(fold, 0)
    body = bytes(record.CHUNK_BYTES + 5)
    parts = [record.CHUNK_PAYLOAD + bytes(size) for size in (record.CHUNK_BYTES, 5)]
    message, *chunks = laid_out(use, [publish((A, 1), body=body), *parts])
    assert isinstance(message, Found)
    assert isinstance(chunks[1], Found)
    head = record.decode_message_head(message.payload)
    assert chunks_end(message, head, chunks) == chunks[1].end
    assert chunks_end(message, head, [chunks[0], chunks[1]._replace(position=0)]) is None
    assert chunks_end(message, head, [chunks[0], Gap(chunks[0].end, chunks[1].end)]) is None
    other = chunks[1]._replace(payload=memoryview(b"\x04" + bytes(5)))
    assert chunks_end(message, head, [chunks[0], other]) is None
