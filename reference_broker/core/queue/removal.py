"""Removal of many messages of a queue without a dead letter: a purge, and the end of a queue.

What the log has goes as a range: an index entry is a row of a column until it is gone, and nothing
is done message by message. The unit is a run, entries of one chunk that follow each other, so that
whoever has much to remove can do it in portions.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from reference_broker.core.message.content import NOT_STORED

if TYPE_CHECKING:
    from reference_broker.core.index.entry_rows import EntryRun
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.queue.queue import Queue

_SIGN_OCTET = array("H", (1,)).tobytes()[0] * 7
"""The octet of a 64-bit number that has its sign: the last one on a little-endian machine."""

_NOT_STORED = array("q", (NOT_STORED,))


def remove_ready(queue: Queue, index: QueueIndex, below: int) -> int:
    """Remove every ready entry with a sequence under ``below``; how many there were. The caller
    takes their contents out of memory."""
    count = 0
    while (run := index.ready_run(below)) is not None:
        remove_ready_run(queue, index, run)
        count += len(run.sequences)
    return count


def remove_ready_run(queue: Queue, index: QueueIndex, run: EntryRun) -> None:
    """Remove what :meth:`QueueIndex.ready_run` has found just now."""
    _remove(queue, run, lambda _, count: index.drop_ready(count))


def remove_taken(queue: Queue) -> None:
    """Remove every entry that is handed out or held back. The caller ends all of the leases."""
    taken = sum(len(index) - index.ready for index in queue.indexes())
    if taken == len(queue.leases) + len(queue.delayed):
        for index in queue.indexes():
            while (run := index.taken_run(index.tail)) is not None:
                remove_taken_run(queue, index, run)
        return
    for sequence in (*queue.leases, *queue.delayed):  # The others are dead letters on their way.
        index = queue.index_of(sequence)
        position, _, stored, _ = index.entry(sequence)
        queue.release(sequence, position, stored)
        index.settle(sequence)


def remove_taken_run(queue: Queue, index: QueueIndex, run: EntryRun) -> None:
    """The same as :func:`remove_ready_run`, for what :meth:`QueueIndex.taken_run` has found."""
    _remove(queue, run, index.settle_run)


def _remove(queue: Queue, run: EntryRun, drop: Callable[[int, int], None]) -> None:
    """Have the journal forget the entries of the run, and ``drop`` them (the first, how many)."""
    sequences, positions, stored = run
    first, count = sequences.start, len(positions)
    if b"\xff" not in positions.tobytes()[_SIGN_OCTET::8]:  # all of them are in the log
        queue.env.journal.ack_range(queue.id, first, positions, stored)
    elif positions != _NOT_STORED * count:
        for row in zip(sequences, positions, stored, strict=True):
            queue.release(*row)
            drop(row[0], 1)
        return
    drop(first, count)
