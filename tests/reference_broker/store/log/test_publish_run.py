"""Runs of PUBLISH records: as many as there is room for, at the positions they are given."""

from __future__ import annotations

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
