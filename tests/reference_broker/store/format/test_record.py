from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.store.format import record
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import Extent
from reference_broker.store.format.record import RecordType, StoredEntry

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
BYTES = st.binary(max_size=200)
ENTRIES = st.lists(
    st.builds(Entry, U64, U64, U64, st.integers(0, 255)),
    max_size=5,
)
CONTENTS = st.builds(Content, BYTES, BYTES, BYTES)


def stored(entries: list[Entry], epoch: int) -> list[StoredEntry]:
    return [
        StoredEntry(each.queue_id, epoch, each.sequence, each.expires_at_ms, each.priority)
        for each in entries
    ]


@given(ENTRIES, U32, CONTENTS)
def test_publish(entries: list[Entry], epoch: int, content: Content) -> None:
    payload = memoryview(record.encode_publish_head(entries, epoch, content) + content.body)
    assert payload[0] == RecordType.PUBLISH
    assert record.decode_message(payload) == (
        len(entries),
        content.route,
        content.header,
        content.body,
        len(content.body),
    )
    head = record.decode_message_head(payload)
    assert head == (stored(entries, epoch), len(content.body), None)


@given(st.builds(Entry, U64, U64, U64, st.integers(0, 255)), U32, CONTENTS)
def test_the_head_for_one_queue_is_the_general_one(
    entry: Entry, epoch: int, content: Content
) -> None:
    head = record.PUBLISH_ONE.pack(
        RecordType.PUBLISH,
        1,
        len(content.route),
        len(content.header),
        len(content.body),
        entry.queue_id,
        epoch,
        entry.sequence,
        entry.expires_at_ms,
        entry.priority,
    )
    general = record.encode_publish_head([entry], epoch, content)
    assert head + content.route + content.header == general


@given(U64, U32, U64, ENTRIES, CONTENTS)
def test_move(
    queue_id: int, epoch: int, sequence: int, entries: list[Entry], content: Content
) -> None:
    head = record.encode_move_head(queue_id, epoch, sequence, entries, content)
    payload = memoryview(head + content.body)
    assert payload[0] == RecordType.MOVE
    assert record.decode_message_head(payload) == (
        stored(entries, epoch),
        len(content.body),
        (queue_id, epoch, sequence, sequence),
    )
    assert record.decode_message(payload) == (
        len(entries),
        content.route,
        content.header,
        content.body,
        len(content.body),
    )


def test_a_body_is_cut_into_chunks_above_a_limit() -> None:
    limit = record.CHUNK_BYTES
    sizes = (0, limit, limit + 1, 2 * limit, 2 * limit + 1)
    assert [record.chunks_of(size) for size in sizes] == [0, 0, 2, 2, 3]
    content = Content(b"", b"", bytes(limit + 1))
    payload = memoryview(record.encode_publish_head([], 1, content))
    assert record.decode_message(payload).chunks == 2
    assert record.decode_message_head(payload).chunks == 2


@given(U64, U32, st.sampled_from(ChecksumKind), U64, U32)
def test_extent(base: int, epoch: int, kind: ChecksumKind, position: int, size: int) -> None:
    extent = Extent(base, epoch, kind, position, size)
    payload = record.encode_extent(extent)
    assert record.FRAME_BYTES + len(payload) == record.EXTENT_BYTES
    assert record.decode_extent(memoryview(payload)) == extent


@given(st.sampled_from([RecordType.CENSUS, RecordType.REMOVED]), st.lists(U64))
def test_bases(kind: RecordType, bases: list[int]) -> None:
    payload = record.encode_bases(kind, bases)
    assert payload[0] == kind
    assert record.decode_bases(memoryview(payload)) == bases
    assert len(payload) == 1 + len(bases) * record.BASE_BYTES


@given(
    st.sampled_from([RecordType.ACK, RecordType.REQUEUE]), U32, st.lists(st.tuples(U64, U64, U64))
)
def test_ranges(kind: RecordType, epoch: int, ranges: list[tuple[int, int, int]]) -> None:
    payload = record.encode_ranges(kind, epoch, ranges)
    assert payload[0] == kind
    decoded = record.decode_ranges(memoryview(payload))
    assert decoded == [(queue_id, epoch, first, last) for queue_id, first, last in ranges]
    head_bytes = record.RANGES_HEAD_BYTES - record.FRAME_BYTES
    assert len(payload) == head_bytes + len(ranges) * record.RANGE_BYTES


@given(st.text(max_size=50), st.none() | BYTES)
def test_define(key: str, value: bytes | None) -> None:
    payload = record.encode_define(key, value)
    assert record.decode_define(memoryview(payload)) == (key, value)


@given(st.dictionaries(st.text(max_size=20), BYTES))
def test_definitions_keep_their_order(definitions: dict[str, bytes]) -> None:
    payload = record.encode_definitions(definitions)
    decoded = record.decode_definitions(memoryview(payload))
    assert list(decoded.items()) == list(definitions.items())
    sizes = [record.encoded_definition_bytes(key, value) for key, value in definitions.items()]
    assert len(payload) == 1 + sum(sizes)


@given(U64)
def test_synced(position: int) -> None:
    payload = record.encode_synced(position)
    assert record.FRAME_BYTES + len(payload) == record.SYNCED_BYTES
    assert record.decode_synced(memoryview(payload)) == position


@given(U32, st.booleans())
def test_start(epoch: int, clean: bool) -> None:
    payload = record.encode_start(epoch, clean)
    assert record.decode_start(memoryview(payload)) == (epoch, clean)


def test_no_type_is_zero_and_none_was_renumbered() -> None:
    # These numbers are on disks.
    assert {kind.name: kind.value for kind in RecordType} == {
        "SYNCED": 1,
        "START": 2,
        "PUBLISH": 3,
        "ACK": 4,
        "REQUEUE": 5,
        "MOVE": 6,
        "DEFINE": 7,
        "DEFINITIONS": 8,
        "CLOSED": 9,
        "SEALED": 10,
        "CHUNK": 11,
        "EXTENT": 12,
        "FOOTER": 13,
        "CENSUS": 14,
        "REMOVED": 15,
    }
