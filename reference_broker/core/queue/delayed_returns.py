"""Messages that came back and may not be handed out again before a time (``x-requeue-delay``).

Such a message has its new place in the index already, at the end of the queue as it was when it
came back, and is taken there without a lease. Its content leaves memory when the log has it: what
waits costs an index entry and a place in a heap. The time of a stored message is in the journal
(:mod:`stored_delays`), right behind the record that moved it, so that it waits on after a restart;
after a crash between the two it is ready at once, which "redelivered" says anyway.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.queue.stored_delays import StoredDelays

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue


class DelayedReturns:
    """Those of one queue, in order of their times. ``absent_bytes`` are those of the bodies that
    are not in memory. Whoever holds messages back calls :meth:`write` before the input ends."""

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

    def _arm(self) -> None:
        due_ms = self._heap[0][0]
        deadline = self._deadline
        if deadline is not None and deadline.pending:
            if deadline.when_ms <= due_ms:
                return
            deadline.cancel()
        self._deadline = self._queue.env.deadlines.at(due_ms, self._release)

    def _release(self) -> None:
        queue, now_ms = self._queue, self._queue.env.moment.wall_ms
        while self._heap and self._heap[0][0] <= now_ms:
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
