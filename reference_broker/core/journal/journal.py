"""The journal: the core's port to the store, which is
:class:`reference_broker.store.log.log.Log`.

Records are appended to a pending batch (no I/O happens here), the
runtime writes and syncs the batch, and then says up to which position. A promise to a client
(a confirm, a declare-ok of a durable object) leaves only when ``synced`` has reached the position
that ``tail`` had after its record was appended.

A position says where a message is kept, for as long as it is: at or above 0 it is one of the log's,
which never changes, also when the log rewrites the file; below :data:`NOT_STORED` it is a page's.
A new entry has to be in its queue's index before anything else is logged, and an entry stays there
until the record that ends it is: the log asks the indexes what is alive (:class:`EntrySource`).
Law 5: a message that is not in memory is asked for with :meth:`Journal.fetch`, and the answer is
a later input (:meth:`reference_broker.core.broker.Broker.fetched`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from reference_broker.core.journal.free_space import FreeSpace, UnlimitedSpace
from reference_broker.core.message.content import NOT_STORED, Content


class Entry(NamedTuple):
    """A message's place in one queue: the identity that acks, moves and mirrors speak about.

    ``expires_at_ms`` is wall-clock milliseconds since 1970, 0 for never; it is stored so that a
    message does not outlive a restart. ``priority`` is the queue's level, 0 where it has none.
    """

    queue_id: int
    sequence: int
    expires_at_ms: int = 0
    priority: int = 0


class EntryColumns(NamedTuple):
    """Entries of one level of a queue that are not gone, in order, as parallel columns."""

    queue_id: int
    sequences: array[int] | range
    """``Q``. They rise, and may have holes; a range where they have none."""
    positions: array[int]
    """``q``"""
    sizes: array[int]
    """``I``: bytes of the body."""
    stored: array[int]
    """``I``: see :attr:`Content.stored`."""
    states: bytes
    """One :class:`~reference_broker.core.index.index.EntryState` for each, never GONE."""
    expiries: array[int] | None
    """``q``, wall ms and 0 for never; ``None`` when none of them expires."""

    def part(self, start: int, end: int) -> EntryColumns:
        """The rows ``start`` to ``end`` (not included)."""
        return EntryColumns(
            self.queue_id,
            self.sequences[start:end],
            self.positions[start:end],
            self.sizes[start:end],
            self.stored[start:end],
            self.states[start:end],
            None if self.expiries is None else self.expiries[start:end],
        )


class EntrySource(Protocol):
    """Somebody who has queues, as their journal sees it: a broker."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """The entries of a queue that are not gone and whose log position lies in ``start`` to
        ``end`` (not included). Nothing for a queue that is deleted. What is handed out is not
        gone, and neither is a dead letter whose move was not journaled yet."""
        ...


class Fetched(NamedTuple):
    """The answer to a fetch: pairs of a sequence and its message. ``None`` is a message that is
    damaged on disk: it can't be had any more."""

    queue_id: int
    contents: Sequence[tuple[int, Content | None]]


class Journal(Protocol):
    """An append-only log of what must survive, and pages for what need not. Positions only grow."""

    tail: int
    """The position at which the next record will start: a promise made now waits for
    ``synced >= tail``. So many bytes as lie between the two are in memory."""
    synced: int
    """Every record that starts below this position is on disk."""
    awaited: int
    """The highest position that somebody waits for ``synced`` to reach. Whoever waits says so
    here: acks alone are not synced at once otherwise."""
    epoch: int
    """Rises at each start; part of every entry's identity, and of every new queue id."""
    redelivered_below: int
    """Messages below this position were there at an unclean stop, 0 for none: they count as
    redelivered."""

    @property
    def free_space(self) -> FreeSpace:
        """The free space for messages."""
        ...

    def attach(self, entries: EntrySource) -> None:
        """Say who knows which entries of some queues are alive, before the first record of theirs.
        Each queue has one such source."""
        ...

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        """Append a message and its entries, and say in ``content`` where it is (``position``) and
        what each entry is accounted for until it is acked (``stored``)."""
        ...

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        """The same for messages of one queue: ``entry`` is the first one's, and each following one
        has the next sequence. How many were appended, from the first on: it may be none. They have
        to be in the queue's index before the next one is published, by :meth:`publish`."""
        ...

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        """The entry is done with: acked, expired, dropped or purged. ``position`` and ``stored``
        are its content's. Calls for consecutive sequences of one queue are folded together."""
        ...

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        """The same for entries that follow the one that was acked last, ``sequence`` on; returns
        how many were folded with it, from the first on. The others are for :meth:`ack`, when these
        are gone from the index."""
        ...

    def ack_range(
        self, queue_id: int, first: int, positions: array[int], stored: array[int]
    ) -> None:
        """:meth:`ack` of entries with consecutive sequences from ``first`` on, which the log has,
        as columns: at the cost of one for each segment. All of them stay in the index until this
        returns, and go before anything else is logged."""
        ...

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        """The entry was handed out and came back: it must be marked redelivered after a restart."""
        ...

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> None:
        """Dead-lettering between durable queues of this broker, as one atomic record: the source
        entry (with its ``position`` and ``stored``) is gone and ``entries`` are there with
        ``content``, in which it says the same as :meth:`publish` does."""
        ...

    def define(self, key: str, value: bytes | None) -> None:
        """Keep ``value`` under ``key`` (a queue, an exchange, a binding); ``None`` deletes it."""
        ...

    def fetch(self, queue_id: int, sequences: array[int], positions: array[int]) -> None:
        """Have these messages read (log and page positions alike, in the queue's order); the
        answer comes as one :class:`Fetched` for the queue. The caller asks for a queue again only
        after that. A message that is not written yet is waited for."""
        ...

    def page(self, content: Content) -> int:
        """Write a message that the log doesn't have to a page; returns its position there, or
        :data:`NOT_STORED` where there are no pages (then it has to stay in memory). Each call
        makes a copy of its own; :meth:`unpage` is called once for each."""
        ...

    def unpage(self, position: int) -> None:
        """A paged message is gone, or is in memory again for good."""
        ...


class MemoryJournal:
    """Keeps nothing and is always synced: for a broker without a data folder, and for tests."""

    def __init__(self, epoch: int = 1) -> None:
        self.tail = 0
        self.synced = 0
        self.awaited = 0
        self.epoch = epoch
        self.redelivered_below = 0
        self.free_space: FreeSpace = UnlimitedSpace()

    def _append(self) -> int:
        position = self.tail
        self.tail = self.synced = position + 1
        return position

    def attach(self, entries: EntrySource) -> None:
        """Nobody is asked."""

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        """Nothing is stored here: the message stays in memory."""

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        return len(contents)

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        self._append()

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        return 0

    def ack_range(
        self, queue_id: int, first: int, positions: array[int], stored: array[int]
    ) -> None:
        self._append()

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        self._append()

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> None:
        """Nothing is stored here, and nothing has to be taken away."""

    def define(self, key: str, value: bytes | None) -> None:
        self._append()

    def fetch(self, queue_id: int, sequences: array[int], positions: array[int]) -> None:
        raise AssertionError("a memory journal has nothing to read")

    def page(self, content: Content) -> int:
        return NOT_STORED

    def unpage(self, position: int) -> None:
        """Nothing is paged."""
