"""Torn or corrupt: every cut and every flipped bit of a small log, against what was promised."""

from __future__ import annotations

import pytest

from reference_broker.core.content import Content
from reference_broker.core.journal import Entry
from reference_broker.simulation.disk import Crash, SimulatedDisk
from reference_broker.store import Log, RecoveredLog, open_log
from reference_broker.store.checksum import ChecksumKind
from reference_broker.store.recovery import recover
from reference_broker.store.segment import HEADER_BYTES, SegmentHeader, SegmentName

BATCHES = 5
PER_BATCH = 3


def pump(log: Log, disk: SimulatedDisk) -> None:
    batch = log.take_batch()
    assert batch is not None
    for operation in batch.operations:
        disk.perform(operation)
    log.batch_synced(batch)


def publish(log: Log, sequence: int, size: int = 40, queue_id: int = 7) -> int:
    content = Content(b"\x01e\x01k", b"header", bytes([sequence % 256]) * size)
    return log.publish([Entry(queue_id, sequence)], content)


def written(segment_bytes: int = 4096, close: bool = False) -> tuple[SimulatedDisk, list[int]]:
    """A log of some batches of messages 1, 2, 3 ...; and where each batch starts."""
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes)
    starts = []
    for batch in range(BATCHES):
        starts.append(log.tail)
        for index in range(PER_BATCH):
            publish(log, batch * PER_BATCH + index + 1)
        pump(log, disk)
    starts.append(log.tail)
    if close:
        log.close()
        pump(log, disk)
    return disk, starts


def names_of(disk: SimulatedDisk) -> list[SegmentName]:
    names = [SegmentName.parse(file) for file in sorted(disk.list_files())]
    return [name for name in names if name is not None]


def recovered_from(disk: SimulatedDisk, **replaced: bytes) -> RecoveredLog:
    def read(name: SegmentName) -> bytes:
        return replaced.get(name.file, disk.read(name.file))

    return recover(names_of(disk), read)


def sequences(recovered: RecoveredLog) -> list[int]:
    return [entry.sequence for entry in recovered.entries.get(7, [])]


def test_a_new_folder() -> None:
    recovered = recover([], lambda name: b"")
    assert (recovered.epoch, recovered.tail, recovered.clean) == (1, 0, True)
    assert recovered.last is None
    assert str(recovered.damage) == "nothing was lost"


def test_every_cut_of_the_last_segment_keeps_a_prefix_and_says_what_was_cut() -> None:
    disk, _ = written()
    (name,) = names_of(disk)
    data = disk.read(name.file)
    end = len(data.rstrip(b"\0"))
    found = 0
    for cut in range(HEADER_BYTES, end):
        torn = data[:cut] + bytes(len(data) - cut)
        recovered = recovered_from(disk, **{name.file: torn})
        seen = sequences(recovered)
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) >= found
        found = len(seen)
        assert not recovered.damage.damaged
        assert not recovered.clean
        # Nothing is cut unmentioned: what was kept and what was cut is all that there is.
        kept = recovered.tail or HEADER_BYTES
        assert kept + recovered.damage.cut_bytes >= len(torn.rstrip(b"\0"))
    assert found == BATCHES * PER_BATCH - 1


def test_every_flipped_bit_below_the_last_sync_is_corruption_and_above_it_a_torn_tail() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    data = disk.read(name.file)
    end = len(data.rstrip(b"\0"))
    promised = starts[-2]  # the last batch starts with a SYNCED record that says this
    everything = list(range(1, BATCHES * PER_BATCH + 1))
    for position in range(end):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        recovered = recovered_from(disk, **{name.file: bytes(flipped)})
        missing = [each for each in everything if each not in sequences(recovered)]
        if position < promised:
            assert recovered.damage.damaged_files == [name.file], position
            assert recovered.damage.quarantined_bytes > 0
            assert recovered.damage.cut_bytes == 0
            assert len(missing) <= 1
            assert recovered.tail == end
        else:
            # The SYNCED record itself may be hit: then even the batch before it isn't proven,
            # but it is sound, and so it is kept.
            assert not recovered.damage.damaged
            assert recovered.damage.cut_bytes > 0
            assert missing == everything[len(everything) - len(missing) :]
        assert not recovered.clean


def test_readable_records_behind_a_torn_one_are_cut_too() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    flipped = bytearray(disk.read(name.file))
    flipped[starts[-2] + 30] ^= 1  # the first message of the last batch
    recovered = recovered_from(disk, **{name.file: bytes(flipped)})
    assert sequences(recovered) == list(range(1, (BATCHES - 1) * PER_BATCH + 1))
    assert recovered.damage.cut_bytes > 2 * 40


def test_corruption_of_a_synced_place_and_a_torn_tail_together() -> None:
    disk, starts = written()
    (name,) = names_of(disk)
    flipped = bytearray(disk.read(name.file))
    flipped[starts[1] + 40] ^= 1
    flipped[starts[-1] - 5] ^= 1
    recovered = recovered_from(disk, **{name.file: bytes(flipped)})
    assert sequences(recovered) == [1, 2, 3, *range(5, 15)]
    assert recovered.damage.damaged
    assert recovered.damage.cut_bytes > 0
    assert "can't be read and stay quarantined" in str(recovered.damage)
    assert "unsynced tail were cut" in str(recovered.damage)


def test_a_flipped_bit_anywhere_in_a_sealed_segment_is_corruption() -> None:
    disk, _ = written(segment_bytes=512)
    names = names_of(disk)
    assert len(names) > 3
    name = names[1]
    data = disk.read(name.file)
    end = names[2].base - name.base
    for position in range(end):
        flipped = bytearray(data)
        flipped[position] ^= 0x04
        recovered = recovered_from(disk, **{name.file: bytes(flipped)})
        assert recovered.damage.damaged_files == [name.file], position
        assert recovered.damage.cut_bytes == 0
        assert len(sequences(recovered)) >= BATCHES * PER_BATCH - 1
        assert recovered.liveness.segments[name.base].damaged


@pytest.mark.parametrize("kept", [0, 10, HEADER_BYTES, 200])
def test_a_sealed_segment_whose_end_is_missing_is_damaged(kept: int) -> None:
    disk, _ = written(segment_bytes=512)
    name = names_of(disk)[1]
    for data in (disk.read(name.file)[:kept], disk.read(name.file)[:kept].ljust(512, b"\0")):
        recovered = recovered_from(disk, **{name.file: data})
        assert recovered.damage.damaged_files == [name.file]


def test_a_damaged_header_does_not_hide_the_records() -> None:
    disk, _ = written()
    (name,) = names_of(disk)
    for kind in ChecksumKind:
        other = SimulatedDisk()
        log, _ = open_log(other, checksum=kind)
        publish(log, 1)
        pump(log, other)
        data = bytearray(other.read(name.file))
        data[0] ^= 1
        recovered = recovered_from(other, **{name.file: bytes(data)})
        assert sequences(recovered) == [1]
        assert recovered.damage.damaged


def test_a_segment_under_another_ones_name_gives_nothing() -> None:
    disk, _ = written()
    (name,) = names_of(disk)
    stranger = SegmentName(name.base, name.epoch + 1)
    recovered = recover([stranger], lambda _: disk.read(name.file))
    assert recovered.entries == {}
    assert recovered.damage.cut_bytes > 0


def test_entries_come_back_with_all_that_they_were_published_with() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    content = Content(b"\x01e\x01k", b"header", b"body")
    entries = [Entry(7, 5, expires_at_ms=123456789012, priority=9), Entry(8, 1)]
    position = log.publish(entries, content)
    log.define("queue seven", b"durable")
    log.close()
    pump(log, disk)
    _, recovered = open_log(disk)
    ((seven,), (eight,)) = recovered.entries[7], recovered.entries[8]
    assert (seven.sequence, seven.expires_at_ms, seven.priority) == (5, 123456789012, 9)
    assert (eight.sequence, eight.expires_at_ms, eight.priority) == (1, 0, 0)
    assert seven.content is eight.content
    assert seven.content.position == position
    assert (seven.content.route, seven.content.header) == (b"\x01e\x01k", b"header")
    assert seven.content.body == b"body"
    assert recovered.definitions == {"queue seven": b"durable"}
    assert recovered.clean


def test_entries_are_in_order_of_sequence_whatever_the_order_of_the_log() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    for sequence in (3, 1, 2):
        publish(log, sequence)
    pump(log, disk)
    assert sequences(open_log(disk)[1]) == [1, 2, 3]


def test_the_epoch_rises_at_each_start_also_at_one_that_was_cut_short() -> None:
    disk = SimulatedDisk()
    epochs = []
    for operations in (3, 100, 4, 5, 100):
        disk.fail_at(operations)
        try:
            epochs.append(open_log(disk)[1].epoch)
        except OSError:
            epochs.append(0)
        disk.crash(Crash.KEEP)
    started = [epoch for epoch in epochs if epoch]
    assert len(started) == 2
    assert started[0] < started[1]


def test_an_unclean_start_marks_everything_for_good_and_a_clean_one_only_what_came_back() -> None:
    disk, _ = written(segment_bytes=512)
    log, recovered = open_log(disk, segment_bytes=512)
    assert all(entry.redelivered for entry in recovered.entries[7])
    for sequence in range(100, 110):  # enough for several segments
        position = publish(log, sequence)
    log.requeue(7, 109, position)
    log.close()
    pump(log, disk)
    for _ in range(2):
        log, recovered = open_log(disk, segment_bytes=512)
        assert recovered.clean
        marked = [entry.sequence for entry in recovered.entries[7] if entry.redelivered]
        assert marked == [*range(1, BATCHES * PER_BATCH + 1), 109]
        log.close()
        pump(log, disk)


def test_marks_outlive_the_segment_that_was_in_use_at_the_unclean_stop() -> None:
    disk, _ = written(segment_bytes=512)
    last = names_of(disk)[-1]
    log, recovered = open_log(disk, segment_bytes=512)
    for entry in recovered.entries[7][1:]:
        log.ack(7, entry.sequence, entry.content.position)
    for sequence in range(100, 120):
        log.ack(7, sequence, publish(log, sequence))
        pump(log, disk)
    assert last not in names_of(disk)
    log.close()
    pump(log, disk)
    _, recovered = open_log(disk, segment_bytes=512)
    assert recovered.clean
    assert [(entry.sequence, entry.redelivered) for entry in recovered.entries[7]] == [(1, True)]


def test_a_moved_message_whose_body_is_lost_is_counted_and_left_out() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=16384)
    body = bytes(range(1, 256)) * 40
    position = log.publish([Entry(7, 1)], Content(b"", b"", body))
    pump(log, disk)
    moved = log.move(7, 1, position, [Entry(8, 1)], Content(b"", b"dead", body))
    publish(log, 2)
    pump(log, disk)
    publish(log, 3)
    pump(log, disk)
    (name,) = names_of(disk)
    whole = recovered_from(disk)
    assert whole.entries[8][0].content.body == body
    assert whole.entries[8][0].content.position == moved
    data = bytearray(disk.read(name.file))
    data[position - name.base + 100] ^= 1
    recovered = recovered_from(disk, **{name.file: bytes(data)})
    assert 8 not in recovered.entries
    assert recovered.damage.entries_without_body == 1
    assert "1 moved messages lost their body" in str(recovered.damage)
    assert sequences(recovered) == [2, 3]


def test_a_sequence_that_was_given_again_because_its_ack_is_lost_is_counted() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    first = publish(log, 1)
    pump(log, disk)
    at = log.tail
    log.ack(7, 1, first)
    pump(log, disk)
    publish(log, 1, size=50)
    pump(log, disk)
    publish(log, 2)
    pump(log, disk)
    (name,) = names_of(disk)
    data = bytearray(disk.read(name.file))
    data[at - name.base + 25] ^= 1
    recovered = recovered_from(disk, **{name.file: bytes(data)})
    assert [len(entry.content.body) for entry in recovered.entries[7]] == [50, 40]
    assert recovered.damage.entries_replaced == 1
    assert "1 messages were replaced" in str(recovered.damage)


def test_headers_say_which_epoch_created_the_segment() -> None:
    disk, _ = written(segment_bytes=512)
    open_log(disk, segment_bytes=512)
    for name in names_of(disk):
        header = SegmentHeader.decode(disk.read(name.file))
        assert header is not None
        assert header.name == name
    assert {name.epoch for name in names_of(disk)} == {1, 2}
