"""Admitted messages can be stored: the decision alone, and a log whose publishers ask."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.store import Batch, Log, open_log
from reference_broker.store.disk.ports import (
    DISK_FULL,
    CreateFile,
    CreateSpare,
    RenameFile,
    TruncateFile,
)
from reference_broker.store.format.segment import SPARE_FILE
from reference_broker.store.liveness.liveness import Liveness
from reference_broker.store.liveness.spare import Spare
from reference_broker.store.log.free_space import LogSpace, message_bytes
from reference_broker.testing.lone_log import LoneQueues, opened

SEGMENT_BYTES = 32_768
RESERVE = SEGMENT_BYTES // 2


class Segment:
    """The free bytes of a segment in use, and their :class:`LogSpace`."""

    def __init__(self, spare_bytes: int = SEGMENT_BYTES) -> None:
        self.free_bytes = SEGMENT_BYTES
        self.spare = Spare(spare_bytes)
        self.space = LogSpace(self.spare, Liveness(), SEGMENT_BYTES, lambda: self.free_bytes)

    def answer(self, *, missing: bool = False) -> None:
        self.space.batch_synced(1, missing)

    def admits_bytes(self) -> int:
        """The largest message that is admitted now."""
        small, large = -1, 10 * SEGMENT_BYTES
        while small + 1 < large:
            middle = (small + large) // 2
            if self.space.admits(middle, 1):
                small = middle
            else:
                large = middle
        self.space.nobody_waits()
        return small


@pytest.fixture
def segment() -> Segment:
    return Segment()


def test_with_a_spare_all_of_the_segment_in_use_is_for_messages(segment: Segment) -> None:
    assert segment.admits_bytes() == SEGMENT_BYTES - message_bytes(0, 1, 1)
    segment.free_bytes = 5_000
    assert RESERVE - 1_000 < segment.admits_bytes() < RESERVE, "in the spare, but for the reserve"
    segment.space.rate()
    assert (segment.space.scarce, segment.space.withheld_bytes) == (False, 0)


def test_without_one_half_a_segment_is_not_for_messages(segment: Segment) -> None:
    segment.spare.take(0)
    assert segment.admits_bytes() == SEGMENT_BYTES - RESERVE - message_bytes(0, 1, 1)
    segment.free_bytes = RESERVE
    assert segment.admits_bytes() == -1
    segment.space.ask_for_spare()
    assert segment.admits_bytes() == -1, "nobody knows yet whether there is one"
    segment.answer(missing=True)
    assert segment.admits_bytes() == -1
    segment.spare.retry()
    segment.space.ask_for_spare()
    segment.answer()
    assert segment.admits_bytes() == RESERVE - message_bytes(0, 1, 1)


def test_a_segment_that_may_not_come_to_be_does_not_count() -> None:
    segment = Segment(0)
    creation, size_bytes = segment.space.begin_segment(0, "next", 100)
    assert (creation, size_bytes) == (CreateFile("next", SEGMENT_BYTES), SEGMENT_BYTES)
    assert segment.admits_bytes() == -1
    segment.answer()
    assert segment.admits_bytes() > 0


def test_it_counts_where_the_spare_will_be_that_segment() -> None:
    segment = Segment(0)
    segment.space.ask_for_spare()
    segment.space.begin_segment(700, "next", 100)
    segment.answer()
    assert segment.admits_bytes() == SEGMENT_BYTES - RESERVE - message_bytes(0, 1, 1)


def test_the_spare_becomes_the_next_segment(segment: Segment) -> None:
    begun = segment.space.begin_segment(700, "next", 100)
    assert begun == (RenameFile(SPARE_FILE, "next"), SEGMENT_BYTES)
    assert segment.admits_bytes() > 0


def test_it_is_scarce_from_where_the_limit_is_said_to_be(segment: Segment) -> None:
    heard: list[str] = []
    segment.space.listen(lambda: heard.append("scarce"))
    segment.space.rate()
    segment.spare.take(0)
    withheld = -segment.space.rate()
    assert withheld == segment.space.withheld_bytes > RESERVE
    assert not segment.space.scarce
    assert segment.space.rate() == 0
    segment.free_bytes = withheld
    assert segment.space.release() == withheld
    assert (segment.space.scarce, segment.space.withheld_bytes) == (True, 0)
    assert segment.space.release() == 0
    assert heard == ["scarce"]
    segment.space.ask_for_spare()
    segment.answer()
    segment.space.rate()
    assert not segment.space.scarce


def test_it_is_at_rest_while_the_usual_spare_is_there_and_nobody_wants_another(
    segment: Segment,
) -> None:
    space = segment.space

    def rests() -> bool:
        space.rate()
        return space.at_rest

    assert rests()
    space.begin_segment(0, "next", 100)
    assert not rests()
    space.ask_for_spare()
    assert not rests()
    segment.answer()
    assert rests()
    assert not space.admits(3 * SEGMENT_BYTES, 1)
    assert not space.at_rest
    space.nobody_waits()
    assert rests()
    space.begin_segment(700, "larger than the spare", 3 * SEGMENT_BYTES)
    assert not rests(), "nobody knows whether the disk has room for it"
    segment.space.batch_synced(701, False)
    assert rests()


def test_a_message_that_the_spare_is_too_small_for_has_it_made_larger(segment: Segment) -> None:
    segment.free_bytes = 100
    assert not segment.space.admits(3 * SEGMENT_BYTES, 1)
    (creation,) = segment.space.ask_for_spare()
    assert isinstance(creation, CreateSpare)
    assert 3.5 * SEGMENT_BYTES < creation.size_bytes < 3.6 * SEGMENT_BYTES
    assert not segment.space.admits(10, 1), "of what is there the size is not known"
    segment.answer()
    assert segment.space.admits(3 * SEGMENT_BYTES, 1)
    assert segment.space.ask_for_spare() == [], "it may be logged a moment later"
    segment.space.nobody_waits()
    assert segment.space.ask_for_spare() == [TruncateFile(SPARE_FILE, SEGMENT_BYTES)]
    assert segment.space.ask_for_spare() == []
    assert not segment.space.admits(3 * SEGMENT_BYTES, 1)


def test_where_that_has_no_room_it_is_missing_until_nobody_waits(segment: Segment) -> None:
    segment.free_bytes = 100
    assert not segment.space.admits(3 * SEGMENT_BYTES, 1)
    segment.space.ask_for_spare()
    segment.answer(missing=True)
    assert segment.spare.missing
    assert segment.space.ask_for_spare() == []
    assert segment.space.admits(1_000, 1), "the usual one is still there"
    segment.spare.retry()
    assert segment.spare.missing
    assert segment.space.ask_for_spare()
    segment.answer(missing=True)
    segment.space.nobody_waits()
    assert not segment.spare.missing
    assert segment.space.ask_for_spare() == []
    assert not segment.space.admits(3 * SEGMENT_BYTES, 1)
    assert segment.space.ask_for_spare(), "what was found once is not known for ever"


@pytest.mark.parametrize(
    ("sizes", "queues"), [((0,), 1), ((900_000,), 1), ((10, 20_000, 0, 5_000), 40)]
)
def test_no_message_takes_more_than_is_said(sizes: Sequence[int], queues: int) -> None:
    log, _, lone = opened()
    before = log._free_bytes()
    contents = [lone.publish(size, range(queues)) for size in sizes]
    taken = before - log._free_bytes()
    bytes_ = sum(len(c.route) + len(c.header) + len(c.body) for c in contents)
    assert taken <= message_bytes(bytes_, queues * len(sizes), len(sizes))


def admitted(log: Log, lone: LoneQueues, random: Random) -> bool:
    """Publish something, if the log lets it in, as the core would."""
    size = random.choice((10, 300, 3_000, 20_000, 100_000))
    queues = range(random.choice((1, 1, 1, 5)))
    space = log.free_space
    asks = space.scarce or size + 100 > space.plain_bytes or len(queues) > space.plain_entries
    if asks and not space.admits(size + 10, len(queues)):
        return False
    entries = [Entry(queue_id, lone.index(queue_id).tail) for queue_id in queues]
    assert entries
    lone.publish(size, queues)
    return True


def perform(log: Log, disk: PoweredDisk, batch: Batch) -> None:
    for operation in batch.operations:
        try:
            disk.perform(operation)
        except OSError as error:
            if error.errno not in DISK_FULL or not isinstance(operation, CreateSpare):
                raise
            batch.spare_missing = True
    log.batch_synced(batch)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_admitted_is_stored_and_its_acks_make_room_again(seed: int) -> None:
    random = Random(seed)
    disk = PoweredDisk(random, capacity_bytes=12 * SEGMENT_BYTES)
    log, _ = open_log(disk, segment_bytes=SEGMENT_BYTES)
    lone = LoneQueues(log)
    batch: Batch | None = None
    published = refusals = 0
    for _ in range(6_000):
        step = random.random()
        if step < 0.5:
            if admitted(log, lone, random):
                published += 1
            else:
                refusals += 1
        elif step < 0.85:
            queue_id = random.choice([*lone.indexes, 0])
            if lone.index(queue_id).ready:
                lone.ack(queue_id)
        elif batch is None:
            batch = log.take_batch()
        else:
            perform(log, disk, batch)  # raises for any other file that has no room
            batch = None
            log.free_space.nobody_waits()
            log.retry_spare()
    print(published, refusals)
    assert published > 150
    assert refusals > 100
