"""Runs of PUBLISH records: as many as there is room for, at the positions they are given."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.store.format.record import RecordType
from reference_broker.store.log.publish_run import BODY_PIECE_BYTES
from reference_broker.testing.lone_log import filled, of_type, opened, pump, segments


@pytest.mark.parametrize("size", [0, 1, BODY_PIECE_BYTES])
def test_a_run_is_as_many_messages_as_one_batch_has_room_for(size: int) -> None:
    """The first one begins the batch; and no run begins a segment, nor holds a large body."""
    log, disk, queues = opened()
    run = [Content(b"\x01e\x01k", b"header", bytes(size)) for _ in range(400)]
    assert not log.publish_run(Entry(7, 1), run), "no batch has begun"
    alone = queues.publish(size, (7,))
    count = log.publish_run(Entry(7, 2), run)
    assert 0 < count < len(run) if size == BODY_PIECE_BYTES else count == len(run)
    for sequence, content in enumerate(run[:count], 2):
        queues.enter([Entry(7, sequence)], content)
    pump(log, disk)
    found = of_type(RecordType.PUBLISH, disk)
    assert [each.position for each in found] == [each.position for each in (alone, *run[:count])]
    assert found[-1].end == log.tail
    sizes = {each.end - each.position for each in found}
    assert sizes == {each.stored for each in run[:count]} == {alone.stored}
    queues.publish(1, (7,))
    assert not log.publish_run(Entry(7, 9), [Content(b"", b"", bytes(BODY_PIECE_BYTES + 1))])


@pytest.mark.parametrize("left", [0, 1])
def test_a_run_is_live_until_each_of_its_messages_is_acked(left: int) -> None:
    log, disk, queues = opened(segment_bytes=4096)
    first = segments(disk)[0]
    queues.publish()
    run = [Content(b"\x01e\x01k", b"header", b"body") for _ in range(5)]
    assert log.publish_run(Entry(7, 2), run) == len(run)
    for sequence, content in enumerate(run, 2):
        queues.enter([Entry(7, sequence)], content)
    for _ in range(1 + len(run) - left):
        queues.ack()
    filled(log, disk, queues)
    assert (first in segments(disk)) == bool(left)


def test_a_run_of_all_shapes_is_the_records_of_single_messages() -> None:
    """The fields that records of a run share are packed once: none may outlive a change."""
    random = Random(seed := 5)
    routes = (b"\x01e\x01k", b"\x01e\x01k", b"\x01f\x01k", b"\x01e\x05other")
    contents = [
        Content(
            random.choice(routes), bytes(random.choice((3, 3, 9))), bytes(random.choice((4, 7)))
        )
        for _ in range(300)
    ]
    entry = Entry(7, 2, expires_at_ms=1_234_567_890_123, priority=9)
    written = []
    for in_a_run in (True, False):
        log, disk, queues = opened()
        queues.publish()
        queues.index(7)
        if in_a_run:
            assert log.publish_run(entry, contents) == len(contents)
        for number, content in enumerate(contents):
            if not in_a_run:
                log.publish([entry._replace(sequence=2 + number)], content)
            queues.enter([Entry(7, 2 + number)], content)
        pump(log, disk)
        found = of_type(RecordType.PUBLISH, disk)
        written.append([(each.position, bytes(each.payload)) for each in found])
    assert written[0] == written[1], f"seed {seed}"
