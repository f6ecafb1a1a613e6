"""lone_log: queues of indexes over a log and a disk in memory."""

from __future__ import annotations

import pytest

from reference_broker.store import open_log
from reference_broker.testing.lone_log import (
    adopted,
    filled,
    opened,
    pump,
    segments,
    sequences,
    settle_down,
)

SEGMENT_BYTES = 4_096


def test_messages_are_on_the_disk_once_pumped() -> None:
    log, disk, queues = opened()
    queues.publish()
    assert sequences(disk) == []
    assert pump(log, disk) is not None
    assert sequences(disk) == [1]
    assert pump(log, disk) is None


def test_an_ack_takes_the_first_message_or_the_one_that_was_taken() -> None:
    log, disk, queues = opened()
    for _ in range(3):
        queues.publish()
    first = queues.take()
    queues.ack()
    queues.ack(sequence=first)
    pump(log, disk)
    assert sequences(disk) == [3]


def test_a_message_may_be_in_several_queues() -> None:
    log, disk, queues = opened()
    queues.publish(queue_ids=(7, 8))
    queues.ack(7)
    pump(log, disk)
    assert (sequences(disk, 7), sequences(disk, 8)) == ([], [1])


def test_another_segment_begins_and_the_dead_one_is_deleted() -> None:
    log, disk, queues = opened(SEGMENT_BYTES)
    (first,) = segments(disk)
    filled(log, disk, queues)
    filled(log, disk, queues)
    assert first not in segments(disk)


def test_the_queues_of_a_restart_go_on_where_they_were() -> None:
    log, disk, queues = opened()
    queues.publish()
    pump(log, disk)
    log, recovered = open_log(disk)
    queues = adopted(log, recovered)
    queues.ack()
    settle_down(log, disk)
    assert sequences(disk) == []


def test_a_log_that_never_comes_to_rest_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    log, disk, queues = opened()
    batch_synced = log.batch_synced

    def one_more(batch: object) -> None:
        batch_synced(batch)  # type: ignore[arg-type]
        queues.publish()

    monkeypatch.setattr(type(log), "batch_synced", lambda self, batch: one_more(batch))
    queues.publish()
    with pytest.raises(AssertionError, match="never ends"):
        settle_down(log, disk)
