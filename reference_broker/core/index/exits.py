"""The ways by which messages leave a queue: the journal is told, and the entry goes from its index.

The law: an entry stays in its index until the record that ends it is logged, and has gone before
anything else is. A record may begin a new segment, and the footer of the old one is made from the
indexes: what is in none of them is dead for it. Nothing else in the core ends an entry.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.message.content import NOT_STORED

if TYPE_CHECKING:
    from reference_broker.core.index.entry_rows import EntryRun
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.journal.journal import Entry, Journal
    from reference_broker.core.message.content import Content

_SIGN_OCTET = array("H", (1,)).tobytes()[0] * 7
"""The octet of a 64-bit number that has its sign: the last one on a little-endian machine."""

_NOT_STORED = array("q", (NOT_STORED,))


class Exits(Protocol):
    """The ways by which messages leave a queue, chosen once, when the queue is made.

    Each way is for an entry that ``index``, one of the queue's, has: as taken, unless it says
    otherwise. The entry is not to be touched again. What neither the index nor the journal has is
    for the caller: the lease, the content in memory, what was counted. A message that comes back
    to its old place doesn't leave (:meth:`Journal.requeue`).
    """

    def end(self, index: QueueIndex, sequence: int, content: Content) -> None:
        """A message that is ``content`` is done with: acked, dropped, or elsewhere by now, in the
        journal and in the indexes of the queues that it went to."""
        ...

    def end_run(self, index: QueueIndex, first: int, contents: Sequence[Content]) -> int:
        """:meth:`end` of messages that follow the one that was ended last, ``first`` on: one or
        more, which the journal has all or none of. How many went, from the first on; it may be
        none. The others are for :meth:`end`."""
        ...

    def end_absent(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        """A message is done with whose content nobody has read, or needs to: ``position`` and
        ``stored`` are its entry's."""
        ...

    def lose(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        """The same for a ready message, which is damaged on disk."""
        ...

    def end_ready(self, index: QueueIndex, run: EntryRun) -> None:
        """All that :meth:`QueueIndex.ready_run` has found just now is done with."""
        ...

    def end_taken(self, index: QueueIndex, run: EntryRun) -> None:
        """All that :meth:`QueueIndex.taken_run` has found just now is done with."""
        ...

    def move(
        self, sequence: int, content: Content, entries: Sequence[Entry], moved: Content
    ) -> bool:
        """A message goes on elsewhere, as a dead letter or because somebody asked for it: log in
        one atomic record that its entry is gone, and that ``entries`` are there with ``moved``, in
        which it says the same as :meth:`Journal.publish` does. Have these in their indexes next,
        and then :meth:`end_moved` the entry.

        False, and nothing is logged, where that can't be, as for a message that the journal doesn't
        have: publish what is to be published, and :meth:`end` the entry when that is in its
        indexes.
        """
        ...

    def end_moved(self, index: QueueIndex, sequence: int) -> None:
        """:meth:`move` has logged where the message went, and it is there."""
        ...


class LocalExits:
    """The exits of a queue that this broker alone has: logged and settled in one breath. They don't
    refer to their queue, which is freed when nobody else does."""

    __slots__ = ("_durable", "_journal", "_queue_id")

    def __init__(self, journal: Journal, queue_id: int, *, durable: bool) -> None:
        self._journal = journal
        self._queue_id = queue_id
        self._durable = durable

    def end(self, index: QueueIndex, sequence: int, content: Content) -> None:
        position = content.position
        if position >= 0 and self._durable:  # or it is logged for other queues
            self._journal.ack(self._queue_id, sequence, position, content.stored)
        index.settle(sequence)

    def end_run(self, index: QueueIndex, first: int, contents: Sequence[Content]) -> int:
        count = len(contents)
        if self._durable and contents[0].position >= 0:
            count = self._journal.ack_run(self._queue_id, first, contents)
        index.settle_run(first, count)
        return count

    def end_absent(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        self._release(sequence, position, stored)
        index.settle(sequence)

    def lose(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        self._release(sequence, position, stored)
        index.forget(sequence)

    def end_ready(self, index: QueueIndex, run: EntryRun) -> None:
        self._end_rows(run, lambda _, count: index.drop_ready(count))

    def end_taken(self, index: QueueIndex, run: EntryRun) -> None:
        self._end_rows(run, index.settle_run)

    def move(
        self, sequence: int, content: Content, entries: Sequence[Entry], moved: Content
    ) -> bool:
        position = content.position
        if position < 0 or not self._durable:
            return False
        self._journal.move(self._queue_id, sequence, position, content.stored, entries, moved)
        return True

    def end_moved(self, index: QueueIndex, sequence: int) -> None:
        index.settle(sequence)

    def _end_rows(self, run: EntryRun, drop: Callable[[int, int], None]) -> None:
        """Have the journal forget the rows, and ``drop`` them (the first, how many)."""
        sequences, positions, stored = run
        first, count = sequences.start, len(positions)
        if b"\xff" not in positions.tobytes()[_SIGN_OCTET::8]:  # all of them are in the log
            self._journal.ack_range(self._queue_id, first, positions, stored)
        elif positions != _NOT_STORED * count:
            for row in zip(sequences, positions, stored, strict=True):
                self._release(*row)
                drop(row[0], 1)
            return
        drop(first, count)

    def _release(self, sequence: int, position: int, stored: int) -> None:
        """Have the journal forget an entry, and what it keeps for it at ``position``."""
        if position >= 0:
            self._journal.ack(self._queue_id, sequence, position, stored)
        elif position < NOT_STORED:
            self._journal.unpage(position)
