"""Messages that came back and may not be handed out again before a time (``x-requeue-delay``).

Such a message has its new place in the index already, at the end of the queue as it was when it
came back, and is taken there without a lease. Its content leaves memory when the log has it: a
message that waits costs an index entry and a place in a heap.

The due time of a stored message is in the journal, right behind the record that moved it, so that
it waits on after a restart; after a crash between the two it is ready at once, which "redelivered"
says anyway. Due times are definitions, in blocks of up to 64 messages that follow each other, as
messages that come back together are put behind the queue together::

    ~delays/virtual host/queue id/sequence >> 6    | 1 | place u8, due u64 wall ms | ...

A block is written anew when something is added, and removed when nothing of it waits any more. So
it may name messages that wait no more: their times are over, or they are gone, and no sequence is
given twice. For an earlier version to pass over them does no harm: the messages are ready at once.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.journal.definition_keys import DELAYS, key_prefix
from reference_broker.errors import Corrupt

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.journal.journal import EntryColumns, Journal
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue


VERSION = 1

DELAY_BYTES = 144
"""Accounted for each: its time and sequence, in the heap and among the stored ones."""

BLOCK_BITS = 6
"""Sequences of one definition: a lone return writes 10 bytes, or 577 among many that wait."""

_PLACES = 1 << BLOCK_BITS
_PLACED = struct.Struct(">BQ")


class StoredDelays:
    """The due times (wall ms) of one queue's messages, by sequence. What is changed here is in the
    journal after :meth:`write`, which whoever changes it calls before the input ends."""

    __slots__ = ("_changed", "_due", "queue")

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._due: dict[int, int] = {}
        self._changed: dict[int, bool] = {}
        """By block: true where it says something new."""

    def add(self, sequence: int, due_ms: int) -> None:
        """A stored message has to wait."""
        self._due[sequence] = due_ms
        self._changed[sequence >> BLOCK_BITS] = True

    def remove(self, sequence: int) -> None:
        """A message waits no more. Does nothing for a sequence that isn't here."""
        if self._due.pop(sequence, None) is not None:
            self._changed.setdefault(sequence >> BLOCK_BITS, False)

    def clear(self) -> None:
        """The queue is deleted. There is no need to write."""
        for sequence in list(self._due):
            self.remove(sequence)
        self.write()

    def mark(self, columns: EntryColumns) -> EntryColumns:
        """The entries with those that wait as redelivered: they are, as soon as they can be taken,
        and for the index they are taken until then."""
        if not self._due:
            return columns
        states = bytearray(columns.states)
        place = states.find(EntryState.TAKEN)
        while place >= 0:
            if columns.sequences[place] in self._due:
                states[place] = EntryState.REDELIVERED
            place = states.find(EntryState.TAKEN, place + 1)
        return columns._replace(states=bytes(states))

    def write(self) -> None:
        """Journal what has changed."""
        if not self._changed:
            return
        queue = self.queue
        prefix = key_prefix(DELAYS, queue.env.vhost_name)
        changed, self._changed = self._changed, {}
        for block, says_more in changed.items():
            value = self._encoded(block)
            if says_more or value is None:
                queue.env.journal.define(f"{prefix}{queue.id}/{block}", value)

    def restore(self, block: int, value: bytes) -> None:
        """Recovery: a definition as it is in the log. Raises :exc:`Corrupt`, or ``struct.error``
        for one that is cut."""
        if value[:1] != bytes((VERSION,)):
            layout = int.from_bytes(value[:1])
            raise Corrupt(f"a requeue delay has layout {layout}; this broker reads {VERSION}")
        for place, due_ms in _PLACED.iter_unpack(value[1:]):
            self._due[(block << BLOCK_BITS) + place] = due_ms

    def restored(self) -> list[tuple[int, int]]:
        """Recovery: the sequences and times as they came, of messages that are gone too."""
        return list(self._due.items())

    def _encoded(self, block: int) -> bytes | None:
        """``None`` where nothing waits."""
        first = block << BLOCK_BITS
        rows = [
            _PLACED.pack(place, due_ms)
            for place in range(_PLACES)
            if (due_ms := self._due.get(first + place)) is not None
        ]
        return bytes((VERSION,)) + b"".join(rows) if rows else None


def restore_delays(
    definitions: Mapping[str, bytes],
    vhost_name: str,
    queues: Mapping[int, Queue],
    journal: Journal,
) -> None:
    """Recovery: give the queues of a virtual host, by id, the delays that the log has. Those of
    queues that are gone are forgotten there too. When the messages are there, have them wait
    (:meth:`DelayedReturns.restored`).

    Raises :exc:`Corrupt` for one that can't be read.
    """
    prefix = key_prefix(DELAYS, vhost_name)
    for key, value in list(definitions.items()):
        if not key.startswith(prefix):
            continue
        try:
            queue_id, block = map(int, key.removeprefix(prefix).split("/"))
            queue = queues.get(queue_id)
            if queue is not None:
                queue.delayed.stored.restore(block, value)
        except (ValueError, struct.error) as error:
            raise Corrupt(f"a requeue delay can't be read: {error}") from error
        if queue is None:
            journal.define(key, None)


class DelayedReturns:
    """The delayed returns of one queue, in order of their times. ``absent_bytes`` are of the bodies
    that are not in memory. Call :meth:`write` after :meth:`hold`, before the input ends."""

    __slots__ = ("_contents", "_deadline", "_heap", "_queue", "absent_bytes", "stored")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._heap: list[tuple[int, int]] = []
        self._contents: dict[int, Content] = {}
        """Of those that the log doesn't have."""
        self._deadline: Deadline | None = None
        self.absent_bytes = 0
        self.stored = StoredDelays(queue)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes beside bodies and headers."""
        contents = len(self._contents) * MESSAGE_OVERHEAD_BYTES
        return len(self._heap) * DELAY_BYTES + contents

    def __iter__(self) -> Iterator[int]:
        """The sequences, in no particular order."""
        return (sequence for _, sequence in self._heap)

    def hold(self, index: QueueIndex, sequence: int, content: Content, delay_ms: int) -> None:
        """Keep a ready message back. Its header is accounted for by the queue until now."""
        index.take_at(sequence)
        due_ms = self._queue.env.moment.wall_ms + delay_ms
        if content.position < 0:
            self._contents[sequence] = content
        else:
            self._queue.header_bytes -= len(content.header)
            self.absent_bytes += len(content.body)
            self.stored.add(sequence, due_ms)
        heapq.heappush(self._heap, (due_ms, sequence))
        self._arm()

    def write(self) -> None:
        """Journal how long what came back has to wait."""
        self.stored.write()

    def restored(self) -> None:
        """Recovery: the queue has its messages, and they are ready and not in memory. Those whose
        time has not come wait on."""
        queue, now_ms = self._queue, self._queue.env.moment.wall_ms
        index, levels = queue.index, queue.levels
        for sequence, due_ms in self.stored.restored():
            if levels is not None:
                index = levels.index_at(sequence >> LEVEL_SHIFT)
            if due_ms <= now_ms or index.state_of(sequence) is EntryState.GONE:
                self.stored.remove(sequence)
                continue
            index.take_at(sequence)
            size = index.entry(sequence).size
            queue.backlog.gone(size)
            self.absent_bytes += size
            heapq.heappush(self._heap, (due_ms, sequence))
        self.stored.write()
        if self._heap:
            self._arm()

    def cancel(self) -> None:
        """The queue is deleted, and its entries are settled."""
        self._heap.clear()
        self._contents.clear()
        self.absent_bytes = 0
        self.stored.clear()
        if self._deadline is not None:
            self._deadline.cancel()

    def cut_off(self, no_queue: Queue) -> None:
        """The queue is deleted, and this is cancelled: refer to ``no_queue`` in its place."""
        self._queue = self.stored.queue = no_queue

    def _arm(self) -> None:
        due_ms = self._heap[0][0]
        deadline = self._deadline
        if deadline is not None and deadline.pending:
            if deadline.when_ms <= due_ms:
                return
            deadline.cancel()
        self._deadline = self._queue.env.deadlines.at(due_ms, self._release)

    def _release(self) -> None:
        queue = self._queue
        if queue.deleted:
            return
        if queue.purging is not None:  # they were not ready when it was asked
            queue.purging.then(self._release)
            return
        now_ms, budget = queue.env.moment.wall_ms, queue.env.budget
        while self._heap and self._heap[0][0] <= now_ms and budget.left > 0:
            budget.left -= 1
            _, sequence = heapq.heappop(self._heap)
            self.stored.remove(sequence)
            index = queue.index_of(sequence)
            index.put_back(sequence, True)
            if index.expires_at(sequence):
                queue.expiry.watching = True
            content = self._contents.pop(sequence, None)
            if content is not None:
                queue.contents[sequence] = content
            else:
                size = index.entry(sequence).size
                self.absent_bytes -= size
                queue.backlog.leave_out(sequence, size)
        self.stored.write()
        if self._heap:
            self._arm()
        queue.came_back()
