"""clock_mark: what is due may leave when a mark that covers it is on the disk, and not before."""

from __future__ import annotations

import pytest

from reference_broker.core.base.moment import Moment
from reference_broker.core.journal.clock_mark import (
    AHEAD_MS,
    KEY,
    STEP_MS,
    ClockMark,
    encode_mark,
)
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.errors import Corrupt
from reference_broker.testing.recording_journal import RecordingJournal

NOW_MS = 1_700_000_000_000


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal()


@pytest.fixture
def moment() -> Moment:
    return Moment(0.0, NOW_MS)


@pytest.fixture
def mark(journal: RecordingJournal, moment: Moment) -> ClockMark:
    return ClockMark(journal, moment)


def sync(mark: ClockMark, journal: RecordingJournal) -> None:
    journal.synced = journal.tail
    mark.synced()


def test_what_is_due_waits_for_the_mark_and_is_called_once(
    mark: ClockMark, journal: RecordingJournal
) -> None:
    called: list[None] = []

    def call() -> None:
        called.append(None)

    assert not mark.allows(NOW_MS, call)
    assert not mark.allows(NOW_MS - 5, call)
    assert journal.records == [("define", KEY, encode_mark(NOW_MS + STEP_MS))]
    mark.synced()
    assert called == []
    sync(mark, journal)
    mark.synced()
    assert called == [None]
    assert mark.allows(NOW_MS + STEP_MS, call)


def test_it_is_raised_ahead_of_what_is_due_and_no_sooner(
    mark: ClockMark, journal: RecordingJournal, moment: Moment
) -> None:
    due_ms = NOW_MS + 60_000
    assert mark.prepare(due_ms) == due_ms - AHEAD_MS
    assert journal.records == []
    moment.wall_ms = due_ms - AHEAD_MS
    assert mark.prepare(due_ms) == due_ms
    assert journal.records == [("define", KEY, encode_mark(moment.wall_ms + STEP_MS))]
    assert mark.prepare(due_ms + 1) == due_ms + 1
    assert len(journal.records) == 1, "it covers that, too"


def test_a_mark_that_is_not_on_the_disk_yet_takes_nothing_from_the_one_before(
    mark: ClockMark, journal: RecordingJournal, moment: Moment
) -> None:
    mark.prepare(NOW_MS)
    sync(mark, journal)
    end_ms = NOW_MS + STEP_MS
    moment.wall_ms = end_ms - 1
    assert mark.prepare(end_ms) == end_ms
    assert len(journal.records) == 2, "before it is needed"
    assert mark.allows(end_ms, mark.synced)
    assert not mark.allows(end_ms + 1, mark.synced)
    assert len(journal.records) == 2, "one that is on its way is waited for"
    sync(mark, journal)
    assert mark.allows(end_ms + 1, mark.synced)


def test_a_start_takes_up_the_mark_that_it_finds(
    mark: ClockMark, journal: RecordingJournal
) -> None:
    mark.restore({})
    assert mark.restored_ms == 0
    mark.restore({KEY: encode_mark(NOW_MS + 7)})
    assert mark.restored_ms == NOW_MS + 7
    assert mark.allows(NOW_MS + 7, mark.synced)
    assert journal.records == []
    mark.prepare(NOW_MS + 8)
    assert mark.restored_ms == NOW_MS + 7


@pytest.mark.parametrize("value", [b"", b"\x02" + bytes(8), encode_mark(1) + b"x"])
def test_a_mark_that_cannot_be_read_ends_the_start(mark: ClockMark, value: bytes) -> None:
    with pytest.raises(Corrupt, match="clock mark"):
        mark.restore({KEY: value})


def test_without_a_disk_nothing_waits(moment: Moment) -> None:
    mark = ClockMark(MemoryJournal(), moment)
    assert mark.allows(NOW_MS, mark.synced)
