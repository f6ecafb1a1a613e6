"""A journal in a list: every record that the core asks for, in order, and its messages.

    journal = RecordingJournal()
    ...
    assert journal.records == [("publish", (Entry(1, 0),), b"body"), ("ack", 1, 0, 0)]

Nothing is synced until a test sets ``synced``; a read waits for :meth:`RecordingJournal.answer`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from reference_broker.core.journal.free_space import FreeSpace, UnlimitedSpace
from reference_broker.core.journal.journal import Entry, EntrySource, Fetched
from reference_broker.core.message.content import NOT_STORED, Content

RECORD_BYTES = 40
"""Bytes that the recording journal accounts for a message beside its body."""


class Fetch(NamedTuple):
    """A queue's request to read messages back."""

    queue_id: int
    sequences: tuple[int, ...]
    positions: tuple[int, ...]


class RecordingJournal:
    """A :class:`~reference_broker.core.journal.journal.Journal` whose ``records`` are tuples that
    start with the verb.

    It keeps the messages, too: :meth:`answer` answers the oldest of the ``fetches``, whenever the
    test likes. ``pages`` are the messages that are paged, by position; without ``has_pages`` none
    is. A mistake of the core's, such as an ack with wrong bytes, is an :exc:`AssertionError`.
    """

    def __init__(self, epoch: int = 1, *, has_pages: bool = True) -> None:
        self.tail = 0
        self.synced = 0
        self.awaited = 0
        self.epoch = epoch
        self.redelivered_below = 0
        self.free_space: FreeSpace = UnlimitedSpace()
        self.records: list[tuple[Any, ...]] = []
        self.fetches: list[Fetch] = []
        self.pages: dict[int, Content] = {}
        self.damaged: dict[int, None] = {}
        """Positions that can't be read any more."""
        self._has_pages = has_pages
        self._pages_made = 0
        self._messages: dict[int, Content] = {}

    def attach(self, entries: EntrySource) -> None:
        """Do nothing: no entry is ever asked for."""

    def _append(self, *record: Any) -> int:
        self.records.append(record)
        self.tail += 1
        return self.tail - 1

    def _keep(self, position: int, content: Content) -> None:
        content.position = position
        content.stored = len(content.body) + RECORD_BYTES
        self._messages[position] = content

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        self._keep(self._append("publish", tuple(entries), content.body), content)

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        for number, content in enumerate(contents):
            self.publish((entry._replace(sequence=entry.sequence + number),), content)
        return len(contents)

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        assert stored == self._messages[position].stored
        self._append("ack", queue_id, sequence, position)

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        for number, content in enumerate(contents, sequence):
            self.ack(queue_id, number, content.position, content.stored)
        return len(contents)

    def ack_range(
        self, queue_id: int, first: int, positions: array[int], stored: array[int]
    ) -> None:
        columns = zip(positions, stored, strict=True)
        for sequence, (position, size) in enumerate(columns, first):
            self.ack(queue_id, sequence, position, size)

    def requeue(self, queue_id: int, sequence: int, position: int) -> None:
        self._append("requeue", queue_id, sequence, position)

    def move(
        self,
        queue_id: int,
        sequence: int,
        position: int,
        stored: int,
        entries: Sequence[Entry],
        content: Content,
    ) -> None:
        assert stored == self._messages[position].stored
        record = ("move", queue_id, sequence, position, tuple(entries), content.body)
        self._keep(self._append(*record), content)

    def define(self, key: str, value: bytes | None) -> None:
        self._append("define", key, value)

    def fetch(self, queue_id: int, sequences: array[int], positions: array[int]) -> None:
        assert all(fetch.queue_id != queue_id for fetch in self.fetches), "one at a time"
        self.fetches.append(Fetch(queue_id, tuple(sequences), tuple(positions)))

    def answer(self) -> Fetched:
        """Remove the oldest fetch, and return its answer: new contents, as from a disk, and
        ``None`` for each that is ``damaged``. Hand the answer to the queue or the broker."""
        fetch = self.fetches.pop(0)
        pairs = zip(fetch.sequences, fetch.positions, strict=True)
        return Fetched(
            fetch.queue_id, [(sequence, self._read(position)) for sequence, position in pairs]
        )

    def message(self, position: int) -> Content:
        """The message that was published or paged at ``position``; a page may be gone by now."""
        return self._messages[position]

    def _read(self, position: int) -> Content | None:
        kept = self._messages[position]
        if position in self.damaged:
            return None
        return Content(kept.route, kept.header, kept.body, position, kept.stored)

    def page(self, content: Content) -> int:
        if not self._has_pages:
            return NOT_STORED
        self._pages_made += 1
        position = NOT_STORED - self._pages_made
        self.pages[position] = self._messages[position] = content
        return position

    def unpage(self, position: int) -> None:
        del self.pages[position]

    def live(self) -> list[tuple[int, int]]:
        """The entries (queue id, sequence) that recovery would bring back, in order."""
        alive: dict[tuple[int, int], None] = {}
        for record in self.records:
            if record[0] in ("ack", "move"):
                del alive[record[1], record[2]]
            if record[0] in ("publish", "move"):
                alive |= {(entry.queue_id, entry.sequence): None for entry in record[-2]}
        return list(alive)
