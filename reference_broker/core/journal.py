"""What the core needs of the log: a port. The real one is :class:`reference_broker.store.log.Log`.

Law 2 and 3 of the design: records are appended to a pending batch (no I/O happens here), the
runtime writes and syncs the batch, and then says up to which position. A promise to a client
(a confirm, a declare-ok of a durable object) leaves only when ``synced`` has reached the position
that ``tail`` had after its record was appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from reference_broker.core.content import Content


class Entry(NamedTuple):
    """A message's place in one queue: the identity that acks, moves and mirrors speak about.

    ``expires_at_ms`` is wall-clock milliseconds since 1970, 0 for never; it is stored so that a
    message does not outlive a restart. ``priority`` is the queue's level, 0 where it has none.
    """

    queue_id: int
    sequence: int
    expires_at_ms: int = 0
    priority: int = 0


class Journal(Protocol):
    """An append-only log of what must survive. Positions only grow."""

    tail: int
    """Where the next record will start: a promise made now waits for ``synced >= tail``."""
    synced: int
    """Every record that starts below this position is on disk."""
    epoch: int
    """Rises at each start; part of every entry's identity, and of every new queue id."""

    def publish(self, entries: Sequence[Entry], content: Content) -> int:
        """Append a message and its entries; returns the position (the new ``content.position``)."""
        ...

    def ack(self, queue_id: int, sequence: int, position: int) -> None:
        """The entry is done with: acked, expired, dropped or purged. ``position`` is its
        content's position. Calls for consecutive sequences of one queue are folded together."""
        ...

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        """The entry was handed out and came back: it must be marked redelivered after a restart."""
        ...

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> int:
        """Dead-lettering between durable queues of this broker, as one atomic record: the source
        entry is gone and ``entries`` are there, with ``content``'s new header and route and the
        body that is stored at ``position``. Returns the record's position."""
        ...

    def define(self, key: str, value: bytes | None) -> None:
        """Keep ``value`` under ``key`` (a queue, an exchange, a binding); ``None`` deletes it."""
        ...


class MemoryJournal:
    """Keeps nothing and is always synced: for a broker without a data folder, and for tests."""

    def __init__(self, epoch: int = 1) -> None:
        self.tail = 0
        self.synced = 0
        self.epoch = epoch

    def _append(self) -> int:
        position = self.tail
        self.tail = self.synced = position + 1
        return position

    def publish(self, entries: Sequence[Entry], content: Content) -> int:
        return self._append()

    def ack(self, queue_id: int, sequence: int, position: int) -> None:
        self._append()

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        self._append()

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> int:
        return self._append()

    def define(self, key: str, value: bytes | None) -> None:
        self._append()
