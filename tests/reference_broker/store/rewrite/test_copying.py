"""Copies: live records are in them byte for byte, acks and requeues as ranges, the rest is not."""

from __future__ import annotations

import errno
import random
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.store.disk.ports import CreateFile, Operation, RenameFile, Sync, Write
from reference_broker.store.format import record
from reference_broker.store.format.checksum import ChecksumKind, checksum_of
from reference_broker.store.format.extents import ExtentTable
from reference_broker.store.format.footer import Footer, Ranges, encode_footer, read_footer
from reference_broker.store.format.record import CHUNK_BYTES, FRAME, FRAME_BYTES, RecordType
from reference_broker.store.format.segment import SegmentHeader, SegmentName
from reference_broker.store.format.trailer import encode_trailer, read_header
from reference_broker.store.liveness.rewrite_plan import RewritePlan, RewriteResult, Source, Span
from reference_broker.store.rewrite import copying
from reference_broker.store.rewrite.copy_file import CopyFailed
from reference_broker.store.rewrite.copying import SourceOutOfReach, SourceUnreadable
from reference_broker.store.rewrite.rewrite import build

KIND = ChecksumKind.CRC32
QUEUE, OTHER = 7, 8
ABOUT = 10**6


class FaultyFolder(DataFolder):
    """Raises ``error`` for what is asked of the file ``faulty``."""

    faulty = ""
    error = 0

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        self._strike(file)
        return super().read_range(file, offset, size_bytes)

    def perform(self, operation: Operation) -> None:
        if isinstance(operation, Write | Sync | CreateFile):
            self._strike(operation.file)
        super().perform(operation)

    def _strike(self, file: str) -> None:
        if file == self.faulty:
            raise OSError(self.error, "fault")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[FaultyFolder]:
    folder = FaultyFolder(tmp_path)
    yield folder
    folder.close()


class Segment:
    """A plain segment, written by hand."""

    def __init__(self, folder: DataFolder, base: int, kind: ChecksumKind = KIND) -> None:
        self.name = SegmentName(base, 3)
        self.kind = kind
        self.data = bytearray(SegmentHeader(self.name, kind, 0).encode())
        self.foreign_ranges: dict[int, Ranges] = {}
        self._folder = folder

    def _record(self, payload: bytes) -> int:
        position = self.name.base + len(self.data)
        seed = self.name.seed ^ (position & 0xFFFFFFFF)
        self.data += FRAME.pack(len(payload), checksum_of(self.kind)(payload, seed)) + payload
        return position

    def publish(self, body: bytes, *entries: Entry) -> int:
        head = record.encode_publish_head(entries, 3, Content(b"\0\1q", b"header", body))
        if len(body) <= CHUNK_BYTES:
            return self._record(head + body)
        position = self._record(head)
        for start in range(0, len(body), CHUNK_BYTES):
            self._record(record.CHUNK_PAYLOAD + body[start : start + CHUNK_BYTES])
        return position

    def sealed(self) -> Source:
        self._record(record.SEALED_PAYLOAD)
        footer = encode_footer(Footer(RecordType.SEALED, 3, foreign_ranges=self.foreign_ranges))
        offset = len(self.data)
        self._record(footer)
        end = self.name.base + len(self.data)
        self.data += encode_trailer(offset, len(footer))
        write(self._folder, self.name.file, bytes(self.data))
        return Source(self.name, self.kind, len(self.data), end, None)


def write(folder: DataFolder, file: str, data: bytes) -> None:
    folder.perform(CreateFile(file, 0))
    folder.perform(Write(file, 0, [data]))


def columns(
    queue_id: int, entries: Sequence[tuple[int, int]], states: bytes | None = None
) -> EntryColumns:
    """Of (sequence, position)."""
    return EntryColumns(
        queue_id,
        array("Q", [sequence for sequence, _ in entries]),
        array("q", [position for _, position in entries]),
        array("I", [1] * len(entries)),
        array("I", [2] * len(entries)),
        states or bytes(len(entries)),
        None,
    )


def plan_of(
    sources: Sequence[Source], entries: Sequence[EntryColumns], referenced: tuple[Span, ...] = ()
) -> RewritePlan:
    first = sources[0].name
    name = SegmentName(first.base, first.epoch, first.generation + 1)
    return RewritePlan(name, sources[-1].end, sources, entries, referenced, 3, 99, 10**7, KIND)


def bytes_at(folder: DataFolder, file: str, extents: ExtentTable, position: int) -> bytes:
    """The record there, verified."""
    place = extents.place(position, file)
    length, expected = FRAME.unpack(folder.read_range(file, place.offset, FRAME_BYTES))
    payload = folder.read_range(file, place.offset + FRAME_BYTES, length)
    seed = place.seed ^ (position & 0xFFFFFFFF)
    assert checksum_of(place.checksum)(payload, seed) == expected
    return payload


def own_records(
    folder: DataFolder, plan: RewritePlan, result: RewriteResult
) -> list[tuple[int, bytes]]:
    """The copy's own records with their types, extents' bytes left out; all of them verified."""
    data = folder.read(plan.name.copy_file)
    found = []
    offset = 64
    while True:
        length, expected = FRAME.unpack_from(data, offset)
        payload = data[offset + FRAME_BYTES : offset + FRAME_BYTES + length]
        seed = plan.name.seed ^ ((plan.name.base + offset) & 0xFFFFFFFF)
        assert checksum_of(plan.checksum)(payload, seed) == expected
        found.append((payload[0], payload))
        offset += FRAME_BYTES + length
        if payload[0] == RecordType.EXTENT:
            offset += record.decode_extent(memoryview(payload)).size_bytes
        elif payload[0] == RecordType.FOOTER:
            assert offset + 20 == len(data) == result.size_bytes
            return found


def ranges_of_type(
    records: list[tuple[int, bytes]], kind: RecordType
) -> list[tuple[int, int, int]]:
    return [
        (queue_id, first, last)
        for type, payload in records
        if type == kind
        for queue_id, _, first, last in record.decode_ranges(memoryview(payload))
    ]


def installed(folder: DataFolder, plan: RewritePlan, result: RewriteResult) -> Source:
    """The copy as the source of a later rewriting."""
    folder.perform(RenameFile(plan.name.copy_file, plan.name.file))
    return Source(plan.name, plan.checksum, result.size_bytes, plan.end, result.extents)


def test_what_is_alive_is_copied_and_neighbours_stay_together(folder: FaultyFolder) -> None:
    segment = Segment(folder, 0)
    positions = [segment.publish(b"body %d" % n, Entry(QUEUE, n)) for n in range(10)]
    live = [(n, positions[n]) for n in (0, 3, 4, 5, 9)]
    plan = plan_of([segment.sealed()], [columns(QUEUE, live)])
    result = build(plan, folder)
    assert list(result.extents.positions) == [positions[n] for n in (0, 3, 9)]
    for sequence, position in live:
        payload = bytes_at(folder, plan.name.copy_file, result.extents, position)
        assert payload.endswith(b"body %d" % sequence)
    kinds = [kind for kind, _ in own_records(folder, plan, result)]
    assert kinds == [RecordType.EXTENT] * 3 + [RecordType.SEALED, RecordType.FOOTER]
    header = SegmentHeader.decode(folder.read(plan.name.copy_file))
    assert header == SegmentHeader(plan.name, KIND, 99, plan.end)


def test_the_footer_has_what_the_plan_has(folder: FaultyFolder) -> None:
    segment = Segment(folder, 0)
    positions = [segment.publish(b"x", Entry(QUEUE, n), Entry(OTHER, n)) for n in range(4)]
    states = bytes([EntryState.READY, EntryState.REDELIVERED, EntryState.TAKEN])
    entries = [
        columns(QUEUE, [(n, positions[n]) for n in (0, 1, 3)], states),
        columns(OTHER, [(2, positions[2])]),
    ]
    plan = plan_of([segment.sealed()], entries)
    result = build(plan, folder)
    source = installed(folder, plan, result)
    assert read_header(folder, source.name) is not None
    footer = read_footer(folder, source.name, KIND)
    assert footer is not None
    by_queue = {group.queue_id: group for group in footer.groups}
    assert list(by_queue[QUEUE].sequences) == [0, 1, 3]
    assert list(by_queue[QUEUE].positions) == [positions[n] for n in (0, 1, 3)]
    assert by_queue[QUEUE].states == bytes([EntryState.READY, EntryState.REDELIVERED, 0])
    assert list(by_queue[OTHER].sequences) == [2]
    assert footer.extents is not None
    assert footer.extents.positions == result.extents.positions
    assert (footer.end, footer.epoch, list(footer.notes)) == (RecordType.SEALED, 3, [])


def test_a_scan_would_see_the_same_entries_as_the_footer(folder: FaultyFolder) -> None:
    """Dead entries of a message that went to several queues, and requeued ones, are in ranges."""
    segment = Segment(folder, 0)
    shared = segment.publish(b"x", Entry(QUEUE, 1), Entry(OTHER, 1), Entry(9, 1))
    single = segment.publish(b"y", Entry(QUEUE, 2))
    segment.publish(b"dead", Entry(QUEUE, 3), Entry(OTHER, 2))
    states = bytes([EntryState.REDELIVERED, EntryState.REDELIVERED])
    plan = plan_of([segment.sealed()], [columns(QUEUE, [(1, shared), (2, single)], states)])
    records = own_records(folder, plan, build(plan, folder))
    assert ranges_of_type(records, RecordType.ACK) == [(OTHER, 1, 1), (9, 1, 1)]
    assert ranges_of_type(records, RecordType.REQUEUE) == [(QUEUE, 1, 2)]


def test_ranges_about_other_segments_are_carried_on(
    folder: FaultyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "RANGES_PER_RECORD", 2)
    first, second = Segment(folder, 0), Segment(folder, 5000)
    acks = [(QUEUE, n, n + 1) for n in range(0, 30, 3)]
    first.foreign_ranges = {
        ABOUT: Ranges(acks, [(OTHER, 5, 6)]),
        5000: Ranges([(QUEUE, 900, 999)], []),
    }
    second.foreign_ranges = {ABOUT: Ranges([(OTHER, 1, 2)], []), 4: Ranges([(QUEUE, 1, 1)], [])}
    plan = plan_of([first.sealed(), second.sealed()], [], (Span(ABOUT - 9, ABOUT + 1),))
    result = build(plan, folder)
    records = own_records(folder, plan, result)
    assert ranges_of_type(records, RecordType.ACK) == [*acks, (OTHER, 1, 2)]
    assert ranges_of_type(records, RecordType.REQUEUE) == [(OTHER, 5, 6)]
    assert max(len(payload) for kind, payload in records if kind == RecordType.ACK) < 100
    assert result.foreign == {ABOUT: 12 * record.RANGE_BYTES}
    footer = read_footer(folder, installed(folder, plan, result).name, KIND)
    assert footer is not None
    assert footer.foreign_ranges == {ABOUT: Ranges([*acks, (OTHER, 1, 2)], [(OTHER, 5, 6)])}


def test_several_segments_and_kinds_of_checksum_become_one_and_one_again(
    folder: FaultyFolder,
) -> None:
    first, second = Segment(folder, 0), Segment(folder, 10_000, ChecksumKind.CRC32C)
    bodies = {}
    for segment in (first, second):
        for number in range(20):
            body = b"%d in %d" % (number, segment.name.base)
            bodies[segment.publish(body, Entry(QUEUE, segment.name.base + number))] = body
    live = sorted(bodies)[::3]
    sources = [first.sealed(), second.sealed()]
    plan = plan_of(sources, [columns(QUEUE, [(p, p) for p in live])])
    source = installed(folder, plan, build(plan, folder))
    fewer = live[1::2]
    third = Segment(folder, 20_000)
    last = third.publish(b"third", Entry(QUEUE, 10**6))
    again = plan_of([source, third.sealed()], [columns(QUEUE, [(p, p) for p in (*fewer, last)])])
    assert again.name.generation == 2
    result = build(again, folder)
    bodies[last] = b"third"
    for position in (*fewer, last):
        payload = bytes_at(folder, again.name.copy_file, result.extents, position)
        assert payload.endswith(bodies[position])
    own_records(folder, again, result)


def test_large_messages_keep_their_chunks_behind_them(folder: FaultyFolder) -> None:
    rng = random.Random(5)
    segment = Segment(folder, 0)
    large = rng.randbytes(5 * CHUNK_BYTES + 17)
    positions = [
        segment.publish(body, Entry(QUEUE, number))
        for number, body in enumerate(
            (b"before", large, b"between", b"dead", large[::-1], b"after")
        )
    ]
    live = [(n, positions[n]) for n in (0, 1, 2, 4, 5)]
    plan = plan_of([segment.sealed()], [columns(QUEUE, live)])
    result = build(plan, folder)
    data = folder.read(plan.name.copy_file)
    for sequence, end in ((1, positions[2]), (4, positions[5])):
        place = result.extents.place(positions[sequence], plan.name.copy_file)
        size = end - positions[sequence]
        original = segment.data[positions[sequence] : end]
        assert data[place.offset : place.offset + size] == original
    own_records(folder, plan, result)


def test_a_long_row_of_records_is_cut_into_pieces(
    folder: FaultyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "COPY_BYTES", 1000)
    pauses: list[None] = []
    segment = Segment(folder, 0)
    live = [(n, segment.publish(bytes(90), Entry(QUEUE, n))) for n in range(200)]
    plan = plan_of([segment.sealed()], [columns(QUEUE, live)])
    result = build(plan, folder, lambda: pauses.append(None))
    assert len(result.extents) > 20
    assert len(pauses) == 200 // copying.PAUSE_RECORDS
    for _, position in live:
        bytes_at(folder, plan.name.copy_file, result.extents, position)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_copy_that_cannot_be_written_is_not_left_behind(folder: FaultyFolder, error: int) -> None:
    segment = Segment(folder, 0)
    position = segment.publish(b"x", Entry(QUEUE, 1))
    plan = plan_of([segment.sealed()], [columns(QUEUE, [(1, position)])])
    folder.faulty, folder.error = plan.name.copy_file, error
    with pytest.raises(CopyFailed):
        build(plan, folder)
    assert plan.name.copy_file not in folder.list_files()


def test_a_source_that_cannot_be_read_is_named(folder: FaultyFolder) -> None:
    segment = Segment(folder, 0)
    position = segment.publish(b"x", Entry(QUEUE, 1))
    source = segment.sealed()
    plan = plan_of([source], [columns(QUEUE, [(1, position)])])
    folder.faulty, folder.error = source.name.file, errno.EIO
    with pytest.raises(SourceUnreadable) as caught:
        build(plan, folder)
    assert caught.value.position == 0
    assert plan.name.copy_file not in folder.list_files()


def test_a_rotten_chunk_is_found_and_not_copied(folder: FaultyFolder) -> None:
    """A copy would take the place of the only file that still shows what was there."""
    for at in (0, 2, 5):
        segment = Segment(folder, 0)
        position = segment.publish(bytes(5 * CHUNK_BYTES + 17), Entry(QUEUE, 1))
        segment.data[-1 - at * CHUNK_BYTES] ^= 1
        plan = plan_of([segment.sealed()], [columns(QUEUE, [(1, position)])])
        with pytest.raises(SourceUnreadable, match="checksum of its part at") as caught:
            build(plan, folder)
        assert caught.value.position == position
        assert plan.name.copy_file not in folder.list_files()


@pytest.mark.parametrize("part", ["footer", "record"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOMEM], ids=errno.errorcode.__getitem__)
def test_a_source_that_is_only_out_of_reach_is_not_called_damaged(
    folder: FaultyFolder, error: int, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = Segment(folder, 0)
    position = segment.publish(b"x", Entry(QUEUE, 1))
    source = segment.sealed()
    plan = plan_of([source], [columns(QUEUE, [(1, position)])])
    if part == "record":
        monkeypatch.setattr(
            copying, "read_footer", lambda disk, name, kind: Footer(RecordType.SEALED, 3)
        )
    folder.faulty, folder.error = source.name.file, error
    with pytest.raises(SourceOutOfReach, match="can't be read now"):
        build(plan, folder)
    assert plan.name.copy_file not in folder.list_files()
    folder.faulty = ""
    assert build(plan, folder).size_bytes == folder.size(plan.name.copy_file)


@pytest.mark.parametrize("part", ["record", "length", "footer"])
def test_a_flipped_bit_in_a_source_is_not_carried_on(folder: FaultyFolder, part: str) -> None:
    segment = Segment(folder, 0)
    segment.publish(b"first", Entry(QUEUE, 1))
    position = segment.publish(b"second", Entry(QUEUE, 2))
    source = segment.sealed()
    at = {"record": position + 30, "length": position, "footer": source.size_bytes - 30}[part]
    segment.data[at] ^= 4
    write(folder, source.name.file, bytes(segment.data))
    plan = plan_of([source], [columns(QUEUE, [(2, position)])])
    with pytest.raises(SourceUnreadable) as caught:
        build(plan, folder)
    assert caught.value.position == (0 if part == "footer" else position)
    assert plan.name.copy_file not in folder.list_files()
