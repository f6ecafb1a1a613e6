"""Removal of many messages of a queue without a dead letter: a purge, and the end of a queue.

What the log has goes as a range: an index entry is a row of a column until it is gone, and nothing
is done message by message. The unit is a run, entries of one chunk that follow each other, so that
whoever has much to remove can do it in portions.

In the end a queue lets go of its parts, which refer to it as it does to them: so it is freed by its
reference count. Others may hold it for a while (a stale lease, a route that a channel remembers, a
listing of the management API): what they ask of it still has an answer.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, cast

from reference_broker.core.message.content import Content
from reference_broker.core.queue.expiry import MessageExpiry
from reference_broker.core.work.until import Until

if TYPE_CHECKING:
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps


class _NoQueue:
    """A queue as the parts of a deleted one see it: there is no message in it, nor ever will be."""

    __slots__ = ()
    deleted = True
    ready = ready_bytes = 0


NO_CONTENT = Content(b"", b"", b"")
"""The content of a stale lease: it stays with its channel until that settles it, and the message,
whose octets nobody would account for, does not."""

_NO_QUEUE = cast("Queue", _NoQueue())

LEASES_AT_ONCE = 1_024
"""Leases that are let go before the budget is looked at again."""

ROWS_PER_UNIT = 16
"""Messages that are removed in the time that one is published."""

CONTENTS_PER_UNIT = 4
"""Messages that were in memory, beside that: each is freed."""

CONTENTS_AT_ONCE = 512
"""Messages that are removed before the budget is looked at again, while there are any in memory."""


def purge(queue: Queue) -> Generator[Until | None, None, int]:
    """The steps of removing every message that is ready now; how many there were. Unacked ones
    stay: they come back behind the end, and nothing is handed out before it. Have the queue come to
    rest before."""
    while queue.purging is not None:
        yield queue.purging
    ended = queue.purging = Until()
    bounds = [(index, index.tail) for index in queue.indexes()]
    queue.begin_return()
    count = 0
    for index, below in bounds:
        count += yield from remove_ready(queue, index, below)
    queue.note_purged(count)
    queue.purging = None
    queue.end_return()
    ended.happened()
    return count


def purged(queue: Queue) -> Steps:
    """:func:`purge`, for somebody who is not told how many there were."""
    yield from purge(queue)


def remove_everything(queue: Queue) -> Steps:
    """The steps of removing all that a queue holds that was ended. All entries are acked in the
    journal, so that no segment is held by a queue that nobody can name."""
    for index in queue.indexes():
        yield from remove_ready(queue, index, index.tail)
    leases = queue.take_leases()
    yield from _remove_taken(queue, leases)
    queue.delayed.cancel()
    budget = queue.env.budget
    while leases:
        for _ in range(min(len(leases), LEASES_AT_ONCE)):
            _, lease = leases.popitem()
            lease.content = NO_CONTENT
        budget.left -= LEASES_AT_ONCE // ROWS_PER_UNIT
        if leases and budget.left <= 0:
            yield None
    if queue.delivery_counts is not None:
        queue.delivery_counts.clear()
    let_go(queue)


def remove_ready(queue: Queue, index: QueueIndex, below: int) -> Generator[None, None, int]:
    """The steps of removing every ready entry with a sequence under ``below``; how many there
    were."""
    budget, contents = queue.env.budget, queue.contents
    removed = 0
    while (head := index.head_sequence()) is not None and head < below:
        run = index.ready_run(min(below, head + CONTENTS_AT_ONCE) if contents else below)
        assert run is not None, "the head is ready"
        size = index.ready_bytes
        queue.exits.end_ready(index, run)
        size -= index.ready_bytes
        gone = [contents.pop(sequence) for sequence in run.sequences if sequence in contents]
        queue.note_removed(len(run.sequences), size, gone)
        removed += len(run.sequences)
        budget.left -= 1 + len(run.sequences) // ROWS_PER_UNIT + len(gone) // CONTENTS_PER_UNIT
        if budget.left <= 0:
            yield None
    return removed


def _remove_taken(queue: Queue, leases: Mapping[int, Lease]) -> Steps:
    """Remove every entry that was handed out, by ``leases``, or is held back."""
    budget = queue.env.budget
    taken = sum(len(index) - index.ready for index in queue.indexes())
    if taken == len(leases) + len(queue.delayed):
        for index in queue.indexes():
            while (run := index.taken_run(index.tail)) is not None:
                queue.exits.end_taken(index, run)
                budget.left -= 1 + len(run.sequences) // ROWS_PER_UNIT
                if budget.left <= 0:
                    yield None
        return
    for sequence in (*leases, *queue.delayed):  # The others are dead letters on their way.
        index = queue.index_of(sequence)
        position, _, stored, _ = index.entry(sequence)
        queue.exits.end_absent(index, sequence, position, stored)
        budget.left -= 1
        if budget.left <= 0:
            yield None


def let_go(queue: Queue) -> None:
    """Cancel what the parts of ``queue`` wait for, which was ended and holds nothing any more, and
    cut each of them off."""
    queue.header_bytes = 0
    queue.expiry.cancel()
    queue.expiry = MessageExpiry(_NO_QUEUE)
    if queue.unused_expiry is not None:
        queue.unused_expiry.cancel()
    queue.unused_expiry = queue.delivery_counts = None
    queue.delayed.cut_off(_NO_QUEUE)
    queue.backlog.cut_off(_NO_QUEUE)
