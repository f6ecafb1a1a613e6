"""renumbering: a queue's messages are its own under another id, after any crash."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest

from reference_broker.core.exchange.definitions import QueueDefinition, decode_queue, encode_queue
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Log, RecoveredLog, open_log
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.start.renumbering import SLICE_MESSAGES, renumbered
from reference_broker.testing.lone_log import LoneQueues

OLD, NEW, OTHER = 7, (1 << 62) + 1, 8
KEY = "queue/%2F/q"
COUNTS = "counts/%2F/7/3"
MESSAGES = 2 * SLICE_MESSAGES + 10


def _write(log: Log, disk: SimulatedDisk) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)


def _folder() -> SimulatedDisk:
    """A folder with two queues: every third message of the one is acked, the first came back."""
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    queues = LoneQueues(log)
    log.define(KEY, encode_queue(QueueDefinition(OLD, "q", False, {})))
    log.define(COUNTS, b"counts")
    contents = [queues.publish(10 + number % 7, (OLD,)) for number in range(MESSAGES)]
    queues.publish(10, (OTHER,))
    for sequence in range(1, MESSAGES + 1):
        taken = queues.take(OLD)
        assert taken == sequence
        if sequence % 3 == 0:
            queues.ack(OLD, sequence)
    log.requeue(OLD, 1, contents[0].position)
    _write(log, disk)
    return disk


def _columns(recovered: RecoveredLog, queue_id: int) -> list[tuple[int, int, int]]:
    """Sequence, size and state of each message."""
    return [
        row
        for columns in recovered.live_entries(queue_id, 0, 1 << 63)
        for row in zip(columns.sequences, columns.sizes, columns.states, strict=True)
    ]


def _bodies(log: Log, disk: SimulatedDisk, indexes: dict[int, QueueIndex]) -> list[int]:
    """The sizes of the messages of a queue, as they can be read."""
    found: list[int] = []
    for columns in indexes[0].live_columns(NEW, 0, 1 << 63):
        log.fetch(NEW, array("Q", columns.sequences), columns.positions)
        for job in take_reads(log):
            for _, content in perform(disk, job).fetched.contents:
                assert content is not None
                found.append(len(content.body))
    return found


def _opened(disk: SimulatedDisk) -> tuple[Log, RecoveredLog]:
    log, recovered = open_log(disk)
    log.attach(recovered)
    return log, recovered


def test_the_messages_are_the_same_and_stay_so() -> None:
    disk = _folder()
    log, recovered = _opened(disk)
    before = _columns(recovered, OLD)
    assert len(before) == MESSAGES - MESSAGES // 3
    for _ in renumbered(log, recovered, disk, KEY, NEW):
        _write(log, disk)
    assert _columns(recovered, NEW) == before
    assert _bodies(log, disk, recovered.queues[NEW]) == [size for _, size, _ in before]
    assert decode_queue(recovered.definitions[KEY]).id == NEW
    _write(log, disk)
    _, again = open_log(disk)
    assert [row[:2] for row in _columns(again, NEW)] == [row[:2] for row in before]
    assert _columns(again, OLD) == []
    assert len(_columns(again, OTHER)) == 1
    assert decode_queue(again.definitions[KEY]).id == NEW
    assert "counts/%2F/7/3" not in again.definitions
    assert again.definitions[f"counts/%2F/{NEW}/3"] == b"counts"


@pytest.mark.parametrize("steps", range(7))
def test_after_a_crash_the_queue_of_the_definition_has_all(steps: int) -> None:
    disk = _folder()
    log, recovered = _opened(disk)
    before = [row[:2] for row in _columns(recovered, OLD)]
    going_on = renumbered(log, recovered, disk, KEY, NEW)
    for _ in range(steps):
        next(going_on, None)
        _write(log, disk)
    log, recovered = _opened(disk)
    owner = decode_queue(recovered.definitions[KEY]).id
    assert [row[:2] for row in _columns(recovered, owner)] == before
    if owner == OLD:
        later = NEW + 1
        for _ in renumbered(log, recovered, disk, KEY, later):
            _write(log, disk)
        assert [row[:2] for row in _columns(recovered, later)] == before


def test_a_queue_without_messages_has_another_id() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    log.attach(_Nothing())
    log.define(KEY, encode_queue(QueueDefinition(OLD, "q", False, {})))
    _write(log, disk)
    log, recovered = _opened(disk)
    assert list(renumbered(log, recovered, disk, KEY, NEW)) == []
    assert decode_queue(recovered.definitions[KEY]).id == NEW


class _Nothing:
    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        return iter(())
