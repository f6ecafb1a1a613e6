"""Moving ready messages from one queue to another because somebody asked for it.

The law: a message is in one of the two queues at every moment and never in both, after a crash
too: where both queues are durable, that is one MOVE record of the log. It arrives as it was
published: exchange, routing key, properties and body are the same. It gets the destination's expiry
and priority, and counts as new there (not redelivered), unless it is in doubt
(:mod:`~reference_broker.core.index.in_doubt`).

A length limit of the destination ends the transfer, whatever its overflow says: nothing is refused,
dead-lettered or dropped for the sake of one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from reference_broker.core.message.content import Content
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.death import is_in_doubt
from reference_broker.core.queue.enqueue import store
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue


class Departure(NamedTuple):
    """A message that leaves ``queue`` for another one: what :func:`store` takes as its source."""

    queue: Queue
    sequence: int
    content: Content


class Stop(StrEnum):
    """Why no more messages are moved now."""

    COUNT = "count"
    """As many as were wanted, or as many as fit into one turn."""
    EMPTY = "empty"
    """Nothing is ready any more."""
    FULL = "destination_full"
    """The next one would exceed the destination's length limit."""
    GONE = "queue_deleted"
    """One of the two was deleted meanwhile."""
    DOWN = "destination_down"
    """The home of the destination, another node, is down or was lost."""
    ABSENT = "absent"
    """The next one has to be read first: have :meth:`Backlog.await_head` say when to go on."""


class Transfer:
    """Moves up to ``count`` messages from the head of ``source`` to the end of ``destination``,
    another queue of its virtual host. ``moved`` and ``moved_bytes`` say how far it is.

    Waiting consumers of the source go first. Nothing is held between two turns.
    """

    def __init__(self, source: Queue, destination: Queue, count: int, bytes_max: int) -> None:
        self._source = source
        self._destination = destination
        self._count = count
        self._bytes_max = bytes_max
        self.moved = 0
        self.moved_bytes = 0

    def run(self) -> Stop:
        """Move what can be moved within this input. The caller answers whoever asked once
        ``journal.synced`` has reached the ``journal.tail`` that it sees after this."""
        while self.moved < self._count and self.moved_bytes < self._bytes_max:
            try:
                stop = self._move_head()
            except NotYet:  # who waits for the head is told when the queue is at rest, too
                stop = Stop.ABSENT
            if stop is not None:
                return stop
        return Stop.COUNT

    def _move_head(self) -> Stop | None:
        source, destination = self._source, self._destination
        if source.deleted or destination.deleted:
            return Stop.GONE
        require_rest(source)
        index = source.head_index()
        head = None if index is None else index.head_sequence()
        if index is None or head is None:
            return Stop.EMPTY
        _, size, _, _ = index.entry(head)
        limit = destination.length_limit
        if limit is not None and not limit.has_room(destination, size):
            return Stop.FULL
        lease = source.get(self)
        if lease is None:
            return Stop.ABSENT if source.ready else Stop.EMPTY
        content = lease.content
        moved = Content(content.route, content.header, content.body)
        departure = source.depart(lease)
        assert departure is not None  # the lease was given just now
        redelivered = is_in_doubt(departure)
        store([destination], moved, read_facts(moved.header), source.env, departure, redelivered)
        self.moved += 1
        self.moved_bytes += content.size
        return None
