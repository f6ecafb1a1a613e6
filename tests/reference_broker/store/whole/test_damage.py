"""Damage that costs no message, and what a start says of it: which part of which file."""

from __future__ import annotations

import pytest

from reference_broker.core.index.index import EntryState
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store.disk.ports import Write
from reference_broker.store.format.record import FRAME_BYTES, RecordType
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName
from reference_broker.store.start.recovered import PLACES_MAX, Part, RecoveredLog
from reference_broker.store.start.recovery import recover
from reference_broker.testing.lone_log import opened, pump, segments, sequences, settle_down

MESSAGES = 15


def written(segment_bytes: int = 4096, *, stopped: bool = False) -> SimulatedDisk:
    """A log of messages that nobody took, in batches of three."""
    log, disk, queues = opened(segment_bytes)
    for number in range(1, MESSAGES + 1):
        queues.publish(40)
        if number % 3 == 0:
            pump(log, disk)
    if stopped:
        log.close()
        while pump(log, disk) is not None:
            pass
    return disk


def rewritten() -> SimulatedDisk:
    log, disk, queues = opened(1024)
    for _ in range(30):
        queues.publish(40, (8,))
        for _ in range(4):
            queues.publish(40)
            queues.ack()
        pump(log, disk)
    settle_down(log, disk)
    return disk


def recovered_with(disk: SimulatedDisk, file: str, offset: int) -> RecoveredLog:
    """The log that a start finds when a bit of the octet at ``offset`` is flipped."""
    disk.flip(file, 8 * offset + 2)
    try:
        return recover(disk)
    finally:
        disk.flip(file, 8 * offset + 2)


def states(recovered: RecoveredLog) -> dict[int, int]:
    return {
        sequence: state
        for columns in recovered.live_entries(7, 0, 1 << 62)
        for sequence, state in zip(columns.sequences, columns.states, strict=True)
    }


def test_a_damaged_first_record_is_found_though_the_footer_is_sound() -> None:
    disk = written(768)
    first_records = set()
    for file in segments(disk)[:-1]:
        recovered = recovered_with(disk, file, HEADER_BYTES)
        (place,) = recovered.damage.places
        name = SegmentName.parse(file)
        assert name is not None
        position = name.base + HEADER_BYTES
        assert (place.file, place.position, place.part) == (file, position, Part.RECORDS)
        assert recovered.damage.lost == {}
        assert list(states(recovered)) == list(range(1, MESSAGES + 1))
        assert recovered.liveness.segments[name.base].damaged, "its file is kept, drained or not"
        first_records.add(disk.read(file)[HEADER_BYTES + FRAME_BYTES])
    assert first_records == {RecordType.SYNCED, RecordType.CENSUS}


def test_a_damaged_first_record_of_a_rewritten_segment_is_found() -> None:
    disk = rewritten()
    assert not recover(disk).damage.damaged
    file = next(file for file in segments(disk) if not file.endswith("-00000000.segment"))
    assert recovered_with(disk, file, HEADER_BYTES).damage.damaged_files == [file]


@pytest.mark.parametrize("part", Part)
def test_damage_of_the_newest_segment_is_told_as_that_after_a_stop_on_purpose(part: Part) -> None:
    disk = written(stopped=True)
    (file,) = segments(disk)
    data = disk.read(file)
    footer_at = data.rindex(bytes([RecordType.FOOTER, RecordType.CLOSED])) - FRAME_BYTES
    offsets = {
        Part.HEADER: range(HEADER_BYTES),
        Part.RECORDS: range(HEADER_BYTES, HEADER_BYTES + FRAME_BYTES),
        Part.FOOTER: range(footer_at, len(data)),
    }[part]
    for offset in offsets:
        recovered = recovered_with(disk, file, offset)
        assert recovered.stopped, offset
        assert not recovered.clean
        everything = range(1, MESSAGES + 1)
        assert states(recovered) == dict.fromkeys(everything, EntryState.REDELIVERED)
        assert [place.part for place in recovered.damage.places] == [part]
        assert recovered.damage.lost == {}


def test_the_end_of_a_stop_that_was_torn_is_no_damage() -> None:
    log, disk, queues = opened(4096)
    queues.publish()
    pump(log, disk)
    log.close()
    batch = log.take_batch()
    assert batch is not None
    (write,) = [operation for operation in batch.operations if isinstance(operation, Write)]
    disk.perform(write)  # which is neither synced, nor is the file cut
    footer_at = disk.read(write.file).rindex(bytes([RecordType.FOOTER, RecordType.CLOSED]))
    disk.perform(Write(write.file, footer_at, [bytes(4096 - footer_at)]))
    recovered = recover(disk)
    assert not recovered.stopped
    assert not recovered.damage.damaged
    assert sequences(disk) == [1]


def test_a_report_names_the_first_places_and_counts_the_others() -> None:
    disk = written(768)
    files = segments(disk)[:-1]
    for file in files:
        disk.flip(file, 8 * HEADER_BYTES)
    report = recover(disk).damage
    assert report.quarantined_regions == len(files) > PLACES_MAX
    assert [place.file for place in report.places] == files[:PLACES_MAX]
    assert f", and {len(files) - PLACES_MAX} more" in str(report)
