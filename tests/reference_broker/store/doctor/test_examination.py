"""Examining: a sound folder is called sound, each flipped byte is found, and nothing is changed."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.errors import StoreError
from reference_broker.store.doctor.examination import CUT, NO_FOOTER, NO_HEADER, NO_RECORD, examine
from reference_broker.store.doctor.health import FileState
from reference_broker.store.format.checksum import PREFERRED, checksum_of
from reference_broker.store.format.footer import encode_footer, read_footer
from reference_broker.store.format.record import FRAME, FRAME_BYTES, RecordType
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.format.trailer import encode_trailer

A, B = 7, 8


def health(disk: Any) -> Any:
    return examine(disk).health


def test_a_sound_folder_is_sound_and_told_in_full(closed_disk: Any, read_back: Any) -> None:
    before = closed_disk.copy().files
    found = health(closed_disk)
    assert found.sound
    assert closed_disk.files == before
    states = [segment.state for segment in found.segments]
    assert states[0] is FileState.REWRITTEN
    assert FileState.SEALED in states
    assert states[-1] is FileState.CLOSED
    names = [(queue.vhost, queue.name, queue.messages) for queue in found.queues]
    kept = [queue_id for queue_id, _ in read_back(closed_disk)]
    assert names == [("/", "a", kept.count(A)), ("/", "b", kept.count(B))]
    assert found.messages == len(kept)
    assert sum(segment.live_messages for segment in found.segments) == len(kept)
    assert sum(queue.body_bytes for queue in found.queues) == sum(
        map(len, read_back(closed_disk).values())
    )
    assert found.segments[0].records[RecordType.EXTENT]
    assert all(segment.records[RecordType.FOOTER] == 1 for segment in found.segments)


def test_after_a_crash_it_is_sound_too(open_disk: Any) -> None:
    found = health(open_disk)
    assert found.sound
    assert found.segments[-1].state is FileState.OPEN
    assert not found.torn_bytes


def plain(disk: Any) -> list[str]:
    """The segments that were sealed and not rewritten, and the closed one at the end."""
    return [file for file in disk.segments if file.endswith("-00000000.segment")]


@pytest.mark.slow
def test_each_flipped_byte_of_each_kind_of_segment_is_found(closed_disk: Any) -> None:
    for file in (closed_disk.segments[0], plain(closed_disk)[0], plain(closed_disk)[-1]):
        for offset in range(len(closed_disk.files[file])):
            disk = closed_disk.copy()
            disk.flip(file, offset, offset % 8)
            found = examine(disk, at_rest=False).health
            damaged = [segment.name.file for segment in found.damaged]
            assert damaged == [file], offset
            (segment,) = found.damaged
            assert any(
                fault.offset <= offset < fault.offset + fault.size_bytes for fault in segment.faults
            ), (file, offset, segment.faults)


def test_what_is_behind_the_last_sync_of_an_open_segment_is_torn_and_not_damaged(
    open_disk: Any,
) -> None:
    file = open_disk.segments[-1]
    written = len(open_disk.files[file].rstrip(b"\0"))
    open_disk.flip(file, written - 1)
    found = health(open_disk)
    assert found.sound
    assert found.torn_bytes
    assert found.messages == health(open_disk.copy()).messages


def test_a_footer_that_is_damaged_after_a_clean_stop_is_found(closed_disk: Any) -> None:
    file = closed_disk.segments[-1]
    closed_disk.flip(file, len(closed_disk.files[file]) - 30)
    (segment,) = health(closed_disk).damaged
    assert [fault.what for fault in segment.faults] == [NO_FOOTER]


def test_faults_say_what_and_where(closed_disk: Any) -> None:
    file = plain(closed_disk)[0]
    name = SegmentName.parse(file)
    assert name is not None
    for offset, what in ((3, NO_HEADER), (300, NO_RECORD)):
        disk = closed_disk.copy()
        disk.flip(file, offset)
        (fault,) = health(disk).damaged[0].faults
        assert fault.what == what
        assert fault.position == name.base + fault.offset


@pytest.mark.parametrize("left", [0, 50, 64, 200, -1])
def test_a_file_that_was_cut_is_said_to_be(closed_disk: Any, left: int) -> None:
    file = plain(closed_disk)[0]
    del closed_disk.files[file][left:]
    (segment,) = health(closed_disk).damaged
    assert segment.name.file == file
    assert segment.faults[-1].what == CUT


def test_a_damaged_trailer_is_no_cut(closed_disk: Any) -> None:
    file = plain(closed_disk)[0]
    closed_disk.flip(file, len(closed_disk.files[file]) - 1)
    assert CUT not in [fault.what for fault in health(closed_disk).damaged[0].faults]


def test_a_message_that_is_gone_is_counted_for_each_queue_that_had_it(
    closed_disk: Any, read_back: Any
) -> None:
    file = plain(closed_disk)[-2]
    at = closed_disk.files[file].index(b"to both")
    before = health(closed_disk)
    closed_disk.flip(file, at)
    found = health(closed_disk)
    assert [queue.lost for queue in found.queues] == [1, 1]
    assert found.messages == before.messages - 2 == len(read_back(closed_disk))
    (whole,) = [segment for segment in before.segments if segment.name.file == file]
    assert found.damaged[0].live_messages == whole.live_messages - 2


def test_a_segment_that_is_not_there_is_missed(closed_disk: Any) -> None:
    gone = closed_disk.segments[2]
    del closed_disk.files[gone]
    found = health(closed_disk)
    assert not found.sound
    assert found.missing == [SegmentName.parse(gone).base]  # type: ignore[union-attr]


def test_a_footer_that_tells_another_story_than_the_records_is_found(closed_disk: Any) -> None:
    """No disk does that: it would be a defect of the broker."""
    file = closed_disk.segments[1]
    name = SegmentName.parse(file)
    assert name is not None
    footer = read_footer(closed_disk, name, PREFERRED)
    assert footer is not None
    offset = closed_disk.files[file].rindex(encode_footer(footer)) - FRAME_BYTES
    del footer.groups[0]
    payload = encode_footer(footer)
    seed = name.seed ^ ((name.base + offset) & 0xFFFFFFFF)
    frame = FRAME.pack(len(payload), checksum_of(PREFERRED)(payload, seed))
    closed_disk.files[file][offset:] = frame + payload + encode_trailer(offset, len(payload))
    found = health(closed_disk)
    assert not found.damaged
    assert not found.sound
    assert found.unlike


def test_files_that_nothing_reads_are_listed(closed_disk: Any) -> None:
    name = closed_disk.segments[0]
    closed_disk.files[name + ".quarantine"] = bytearray(b"anything")
    closed_disk.files[name + ".copy"] = bytearray(b"anything")
    found = health(closed_disk)
    assert found.sound
    assert found.quarantined == [name + ".quarantine"]
    assert name + ".copy" in found.leftover


def test_a_folder_of_version_1_is_refused(closed_disk: Any) -> None:
    closed_disk.files["0000000000000000-00000001.segment"] = bytearray()
    with pytest.raises(StoreError, match="version 1"):
        examine(closed_disk)
