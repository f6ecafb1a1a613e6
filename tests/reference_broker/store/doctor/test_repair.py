"""Repairing: afterwards all is sound, what could be read is there, and a crash costs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.errors import StoreError
from reference_broker.store.doctor import examination
from reference_broker.store.doctor.examination import examine
from reference_broker.store.doctor.repair import plan_repair, repair
from reference_broker.store.format.segment import QUARANTINE_SUFFIX, SegmentName
from reference_broker.store.start.recovery import recover

A, B = 7, 8
PARTS = 5
"""Of the segments, so that several workers may share them."""
FLIP_STEP = 11
"""Each byte is tried for the examination; here a prime, so that every kind of field is hit."""


def lost_of(before: dict[Any, bytes], after: dict[Any, bytes]) -> set[Any]:
    assert before.keys() >= after.keys(), "something came back"
    return {key for key, body in before.items() if after.get(key) != body}


def claimed(done: Any) -> int:
    return sum(queue.lost for queue in done.health.queues)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(PARTS))
def test_a_flipped_byte_costs_at_most_its_record(
    closed_disk: Any, read_back: Any, start: int
) -> None:
    before = read_back(closed_disk)
    files = closed_disk.segments
    for file in files[start::PARTS]:
        for offset in range(start, len(closed_disk.files[file]), FLIP_STEP):
            disk = closed_disk.copy()
            disk.flip(file, offset, offset % 8)
            done = repair(disk)
            after = read_back(disk)
            lost = lost_of(before, after)
            assert len({before[key] for key in lost}) <= 1, (file, offset)
            assert len(lost) == claimed(done), (file, offset)
            if done.put_aside:
                assert done.put_aside == [file + QUARANTINE_SUFFIX]
                assert len(disk.files[file + QUARANTINE_SUFFIX]) > 0
            else:
                assert file == files[-1], "only the newest one may be completed in its place"
            start_report = recover(disk)
            assert not start_report.damage.damaged
            assert start_report.clean


def test_a_sound_folder_is_left_alone(closed_disk: Any, open_disk: Any) -> None:
    for disk in (closed_disk, open_disk):
        before = disk.copy().files
        assert not repair(disk).needed
        assert disk.files == before


def test_a_dry_run_tells_the_same_and_changes_nothing(closed_disk: Any) -> None:
    file = closed_disk.segments[1]
    closed_disk.flip(file, 300)
    before = closed_disk.copy().files
    planned = plan_repair(closed_disk)
    assert closed_disk.files == before
    done = repair(closed_disk)
    assert (planned.put_aside, planned.salvaged) == (done.put_aside, done.salvaged)
    assert claimed(planned) == claimed(done)
    assert done.put_aside == [file + QUARANTINE_SUFFIX]
    assert closed_disk.files[done.put_aside[0]] == before[file]


def test_a_second_repair_has_nothing_to_do(closed_disk: Any) -> None:
    closed_disk.flip(closed_disk.segments[1], 300)
    assert repair(closed_disk).needed
    after = closed_disk.copy().files
    assert not repair(closed_disk).needed
    assert closed_disk.files == after


@pytest.mark.slow
@pytest.mark.parametrize("place", range(5))
def test_a_file_that_was_cut_keeps_what_is_left(
    closed_disk: Any, read_back: Any, place: int
) -> None:
    before = read_back(closed_disk)
    file = closed_disk.segments[place]
    for size in range(0, len(closed_disk.files[file]), 41):
        disk = closed_disk.copy()
        del disk.files[file][size:]
        still_there = read_back(disk)
        repair(disk)
        assert examine(disk).health.sound
        assert read_back(disk) == still_there
        kept = before.keys() & still_there.keys()
        assert all(before[key] == still_there[key] for key in kept)


@pytest.mark.parametrize("place", range(4))
def test_a_missing_file_is_accepted_and_not_reported_again(
    closed_disk: Any, read_back: Any, place: int
) -> None:
    file = closed_disk.segments[place]
    name = SegmentName.parse(file)
    assert name is not None
    del closed_disk.files[file]
    still_there = read_back(closed_disk)
    assert recover(closed_disk).damage.missing_segments == [name.base]
    assert repair(closed_disk).health.missing == [name.base]
    assert not recover(closed_disk).damage.damaged
    assert read_back(closed_disk) == still_there
    assert not repair(closed_disk).needed


def test_an_open_segment_with_a_rotten_record_below_its_last_sync(
    new_store: Any, read_back: Any
) -> None:
    store = new_store()
    store.define(A, "a")
    for number in range(3):
        store.publish(b"body %d" % number, A)
        store.sync()
    disk = store.disk
    before = read_back(disk)
    disk.flip(disk.segments[-1], disk.files[disk.segments[-1]].index(b"body 1"))
    done = repair(disk)
    assert claimed(done) == 1
    assert sorted(read_back(disk).values()) == [b"body 0", b"body 2"]
    assert len(before) == 3
    assert examine(disk).health.sound


def test_messages_whose_queue_is_no_longer_defined_get_one(new_store: Any, read_back: Any) -> None:
    store = new_store()
    store.define(A, "a")
    store.publish(b"precious", A)
    store.sync()
    store.close()
    disk = store.disk
    (file,) = disk.segments
    disk.flip(file, disk.files[file].index(b"queue/"))
    done = repair(disk)
    assert done.salvaged == {A: "salvaged.7"}
    assert list(read_back(disk).values()) == [b"precious"]
    (queue,) = examine(disk).health.queues
    assert (queue.vhost, queue.name, queue.messages) == ("/", "salvaged.7", 1)


def damaged_in_two_ways(disk: Any) -> Any:
    """Two segments with a rotten message each, and a footer that is gone too."""
    plain = [file for file in disk.segments if file.endswith("-00000000.segment")]
    first, second = plain[0], plain[-2]
    disk.flip(first, disk.files[first].index(b"to both"))
    disk.flip(first, len(disk.files[first]) - 3)
    disk.flip(second, disk.files[second].index(b"to both"))
    return disk


def test_a_crash_before_each_operation_costs_nothing(
    closed_disk: Any, read_back: Any, new_store: Any
) -> None:
    broken = damaged_in_two_ways(closed_disk)
    whole = broken.copy()
    repair(whole)
    expected = read_back(whole)
    assert whole.performed > 10
    for lives in range(whole.performed):
        disk = broken.copy(lives)
        with pytest.raises(Exception, match=r"^$"):
            repair(disk)
        disk.lives = 1 << 60
        assert read_back(disk) == expected
        started = disk.copy()
        new_store(started).sync()
        assert read_back(started) == expected, "a broker was started in between"
        for each in (disk, started):
            repair(each)
            assert examine(each).health.sound
            assert read_back(each) == expected
        originals = [
            file for file in broken.segments if broken.files[file] != whole.files.get(file)
        ]
        for file in originals:
            put_aside = disk.files.get(file + QUARANTINE_SUFFIX)
            assert put_aside is None or put_aside == broken.files[file]


def test_each_failing_operation_is_an_error_and_costs_nothing(
    closed_disk: Any, read_back: Any
) -> None:
    broken = damaged_in_two_ways(closed_disk)
    whole = broken.copy()
    repair(whole)
    expected = read_back(whole)
    for lives in range(0, whole.performed, 3):
        disk = broken.copy(lives)
        with pytest.raises(Exception, match=r"^$"):
            repair(disk)
        disk.lives = 1 << 60
        repair(disk)
        assert read_back(disk) == expected


def test_what_no_disk_does_is_not_repaired(
    closed_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "_differences", lambda *_: ["queue 7: not the same"])
    before = closed_disk.copy().files
    with pytest.raises(StoreError, match="queue 7: not the same"):
        repair(closed_disk)
    assert closed_disk.files == before


def test_a_damaged_segment_that_nothing_needs_any_more_is_put_aside_too(
    new_store: Any, read_back: Any
) -> None:
    """It was only kept for its definitions, and a start writes those again."""
    store = new_store()
    store.define(A, "a" * 200)
    store.publish(b"gone" + b"x" * 50, A)
    store.sync()
    store.ack(A, 1)
    store.publish(b"here" + b"x" * 500, A)
    store.sync()
    store.close()
    disk = store.disk
    file = disk.segments[0]
    disk.flip(file, disk.files[file].index(b"gone"))
    original = bytes(disk.files[file])
    before = read_back(disk)
    assert repair(disk).put_aside == [file + QUARANTINE_SUFFIX]
    assert disk.files[file + QUARANTINE_SUFFIX] == original
    assert read_back(disk) == before
    assert len(before) == 1
