"""The ready messages of a queue that are not in memory, and how they come back in order.

The law: a message that is ready is in :attr:`Queue.contents`, or it is *absent*: the journal has it
(its index entry says where), and it is counted here. Only an absent message is ever fetched, one
fetch at a time, in the order in which messages are handed out; whoever needs the head goes on when
it has come. A message on a page is there only while it is absent.

Every ready message of a level below the level's cursor is in memory or in the fetch that is under
way, so the search for what to fetch next never begins at the head again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING

from reference_broker.core.base.limits import MIB
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.message.content import NOT_STORED

if TYPE_CHECKING:
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue

READ_AHEAD_BYTES = 1 * MIB
"""Bodies that one fetch asks for (and the one that goes over it): one read of the disk."""

READ_AHEAD_MESSAGES = 2_048
"""Messages of one fetch: decoding them takes the loop two or three milliseconds."""

_LOOK_AT_ONCE = 512
"""Entries: what is looked at beyond the end of a fetch is for nothing."""

READ_AHEAD_BYTES_MIN = 64 * 1024
"""Asked for even where the window is full of messages that can't leave memory."""

HEAD_BYTES = 64 * 1024
"""The first messages, up to this much, stay in memory whatever it holds: they go out next."""


class Backlog:
    """The absent messages of one queue, and the fetch of some. ``absent_bytes`` are of bodies."""

    __slots__ = ("_cursors", "_queue", "_waiters", "absent", "absent_bytes", "fetching")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._cursors: dict[int, int] = {}
        """By level."""
        self._waiters: list[Callable[[], None]] = []
        self.absent = 0
        self.absent_bytes = 0
        self.fetching = False

    @property
    def resident_bytes(self) -> int:
        """Accounted bytes of the ready messages that are in memory, without their headers."""
        queue = self._queue
        bodies = queue.ready_bytes - self.absent_bytes
        return bodies + (queue.ready - self.absent) * MESSAGE_OVERHEAD_BYTES

    def has_room(self) -> bool:
        """One more message fits the window (the last one may be larger than what was left)."""
        return self.resident_bytes < self._queue.env.window.size_bytes

    def note_lost(self, count: int) -> None:
        """``count`` messages of the queue can't be read any more."""
        self._queue.lost += count

    # Leaving memory

    def leave_out(self, sequence: int, size: int, count: int = 1) -> None:
        """The ready message of that sequence is absent from now on, with a body of ``size``; or
        ``count`` of them from it on, with bodies of ``size`` together."""
        self.absent += count
        self.absent_bytes += size
        level = sequence >> LEVEL_SHIFT
        if sequence < self._cursors.get(level, 0):
            self._cursors[level] = sequence

    def leave_all_out(self) -> None:
        """Recovery: nothing is in memory yet."""
        self.absent = self._queue.ready
        self.absent_bytes = self._queue.ready_bytes

    def gone(self, size: int, count: int = 1) -> None:
        """``count`` absent messages, with bodies of ``size`` together, are not ready any more."""
        self.absent -= count
        self.absent_bytes -= size

    def let_go(self, sequence: int) -> None:
        """The ready message of that sequence leaves memory, if it is there and the log has it."""
        queue = self._queue
        content = queue.contents.get(sequence)
        if content is None:
            return
        position, size, _, _ = queue.index_of(sequence).entry(sequence)
        if position >= 0:
            del queue.contents[sequence]
            queue.header_bytes -= len(content.header)
            self.leave_out(sequence, size)

    def taken(self, sequence: int, content: Content) -> None:
        """The ready message of that sequence, which is ``content``, is about to be taken, whether
        it is in memory or not."""
        queue = self._queue
        if queue.contents.pop(sequence, None) is None:
            queue.header_bytes += len(content.header)
            self.gone(len(content.body))

    def keep(self, sequence: int, content: Content) -> None:
        """The ready message of that sequence, which is ``content``, is in memory from now on, if
        the window has room for it."""
        queue = self._queue
        if sequence not in queue.contents and self.has_room():
            queue.contents[sequence] = content
            queue.header_bytes += len(content.header)
            self.gone(len(content.body))

    def shed(self, wanted_bytes: int, *, paging: bool) -> int:
        """Have messages beyond the window leave memory, those that came last first, until about
        ``wanted_bytes`` are free or the budget is spent; how many are. With ``paging`` one that
        isn't stored goes to a page, if there are pages; otherwise it ends this, since it has to
        stay."""
        if self._queue.deleted:
            return 0
        queue, contents = self._queue, self._queue.contents
        surplus = min(wanted_bytes, self.resident_bytes - queue.env.window.size_bytes)
        if surplus <= 0:
            return 0
        freed = 0
        budget = queue.env.budget
        head = self._resident_head()
        staying: list[tuple[int, Content]] = []
        while contents and freed < surplus and budget.left > 0:
            sequence, content = contents.popitem()
            if sequence in head:
                staying.append((sequence, content))
                continue
            budget.left -= 1
            if not self._is_stored(sequence, content, paging):
                staying.append((sequence, content))
                break
            size = len(content.body)
            self.leave_out(sequence, size)
            queue.header_bytes -= len(content.header)
            freed += size + len(content.header) + MESSAGE_OVERHEAD_BYTES
        contents.update(reversed(staying))
        return freed

    def _resident_head(self) -> dict[int, None]:
        head: dict[int, None] = {}
        room = min(HEAD_BYTES, self._queue.env.window.largest_bytes)
        for index in self._queue.indexes():
            for sequence, _, size in index.ready_from(0):
                if room <= 0 or sequence not in self._queue.contents:
                    return head
                head[sequence] = None
                room -= size + MESSAGE_OVERHEAD_BYTES
        return head

    def _is_stored(self, sequence: int, content: Content, paging: bool) -> bool:
        """The message is on disk: it was already, or could be put on a page now."""
        index = self._queue.index_of(sequence)
        if index.entry(sequence).position != NOT_STORED:
            return True
        position = self._queue.env.journal.page(content) if paging else NOT_STORED
        if position == NOT_STORED:
            return False
        index.set_position(sequence, position)
        return True

    def cut_off(self, no_queue: Queue) -> None:
        """The queue is deleted: refer to ``no_queue`` in its place. Whoever waits for the head is
        still to be told (:meth:`wake`)."""
        self._queue = no_queue

    # Coming back

    def read_ahead(self) -> None:
        """Fetch more when less than half the window is in memory."""
        if self.fetching or not self.absent:
            return
        if 2 * self.resident_bytes < self._queue.env.window.size_bytes:
            self._fetch()

    def fetch(self, sequences: array[int]) -> None:
        """Have the absent ones of these messages read, up to what one fetch may. Nothing may be
        under way."""
        queue = self._queue
        wanted = _Wanted(queue.env.window.largest_bytes)
        for sequence in sequences:
            entry = queue.index_of(sequence).ready_entry(sequence)
            if entry is not None and sequence not in queue.contents and not wanted.enough:
                wanted.take((sequence,), (entry[0],), (entry[1],))
        if wanted.sequences:
            self.fetching = True
            queue.env.journal.fetch(queue.id, wanted.sequences, wanted.positions)

    def want_head(self) -> None:
        """The next message is absent, and somebody waits for it. Whoever asks is called again:
        :meth:`Queue.fetched` has the queue dispatched."""
        if not self.fetching:
            self._fetch()

    def await_head(self, waiter: Callable[[], None]) -> None:
        """Call ``waiter``, once, when :meth:`Queue.get` has an answer: a message, or none any
        more. It may find the head absent again, when another was faster."""
        self._waiters.append(waiter)

    def wake(self) -> None:
        """The input ends: those that wait for the head go on, if it is here or nothing is."""
        if not self._waiters:
            return
        if self._head_is_absent():
            self.want_head()
            return
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    def _head_is_absent(self) -> bool:
        index = None if self._queue.deleted else self._queue.head_index()
        head = None if index is None else index.head_sequence()
        return head is not None and head not in self._queue.contents

    def _fetch(self) -> None:
        """Ask for the first absent messages behind the cursors. There are some, as nothing is
        under way."""
        queue = self._queue
        window = queue.env.window
        least = min(READ_AHEAD_BYTES_MIN, window.largest_bytes)
        room = max(least, window.size_bytes - self.resident_bytes)
        wanted = _Wanted(room)
        for index in queue.indexes():
            self._collect(index, wanted)
            if wanted.enough:
                break
        assert wanted.sequences, f"{queue!r} has lost sight of {self.absent} messages"
        self.fetching = True
        queue.env.journal.fetch(queue.id, wanted.sequences, wanted.positions)

    def _collect(self, index: QueueIndex, wanted: _Wanted) -> None:
        resident, cursors = self._queue.contents.keys(), self._cursors
        level = index.tail >> LEVEL_SHIFT
        looked_at = 0
        for run in index.ready_runs(cursors.get(level, 0), _LOOK_AT_ONCE):
            if resident.isdisjoint(run.sequences):
                wanted.take(*run)
            else:
                absent = [sequence not in resident for sequence in run.sequences]
                wanted.take(*(list(compress(column, absent)) for column in run))
            if wanted.enough:
                cursors[level] = wanted.sequences[-1] + 1
                break
            cursors[level] = run.sequences.stop
            looked_at += len(run.sequences)
            if looked_at >= READ_AHEAD_MESSAGES and wanted.sequences:
                wanted.enough = True
                break

    def arrived(self, answers: Iterable[tuple[int, Content | None]]) -> None:
        """The answer to the fetch: what is still absent comes into memory, or is lost."""
        self.fetching = False
        if self._queue.deleted:
            return
        answers = list(answers)
        if not self._came_as_asked(answers):
            self._came_in_part(answers)

    def _came_as_asked(self, answers: Sequence[tuple[int, Content | None]]) -> bool:
        """Take all of them at once, if they follow each other, are still ready, and come out of the
        log: mostly, and then this is 0.2 us for each where one by one it is 0.5."""
        queue = self._queue
        came = {sequence: content for sequence, content in answers if content is not None}
        if queue.levels is not None or not came or len(came) < len(answers):
            return False
        following, left, body_bytes = answers[0][0], len(came), 0
        for run in queue.index.ready_runs(following, left):
            if run.sequences.start != following or min(run.positions) < NOT_STORED:
                return False
            body_bytes += sum(run.sizes[:left])
            left -= min(left, len(run.sequences))
            following = run.sequences.stop
            if not left:
                break
        if left or answers[-1][0] - answers[0][0] != len(came) - 1:
            return False
        queue.contents.update(came)
        queue.header_bytes += sum([len(content.header) for content in came.values()])
        self.absent -= len(came)
        self.absent_bytes -= body_bytes
        return True

    def _came_in_part(self, answers: Sequence[tuple[int, Content | None]]) -> None:
        queue = self._queue
        contents, index, levels = queue.contents, queue.index, queue.levels
        came = came_bytes = header_bytes = 0
        for sequence, content in answers:
            if levels is not None:
                index = levels.holding(sequence)
            waiting = index.ready_entry(sequence)
            if waiting is None:
                continue  # purged, dropped or expired meanwhile
            position, size, stored = waiting
            came += 1
            came_bytes += size
            if content is None:
                queue.exits.lose(index, sequence, position, stored)
                self.note_lost(1)
                continue
            if position < NOT_STORED:
                queue.env.journal.unpage(position)
                index.set_position(sequence, NOT_STORED)
                if content.position == position:  # not the message itself, which others may have
                    content.position, content.stored = NOT_STORED, 0
            contents[sequence] = content
            header_bytes += len(content.header)
        self.absent -= came
        self.absent_bytes -= came_bytes
        queue.header_bytes += header_bytes


class _Wanted:
    """The messages of one fetch, until it is ``enough``. ``room`` is what memory has for them, and
    ``bodies`` what one fetch may read."""

    __slots__ = ("bodies", "enough", "positions", "room", "sequences")

    def __init__(self, room: int) -> None:
        self.room = room
        self.bodies = READ_AHEAD_BYTES
        self.sequences = array("Q")
        self.positions = array("q")
        self.enough = False

    def take(
        self, sequences: Sequence[int], positions: Sequence[int], sizes: Sequence[int]
    ) -> None:
        """Add messages, in order, up to the one that is enough. By whole columns: a backlog is read
        at 0.2 us for each message, where looking at one by one took 0.7."""
        most = READ_AHEAD_MESSAGES - len(self.sequences)
        ends = list(accumulate(sizes[:most]))
        if not ends:
            return

        def accounted(row: int) -> int:
            return ends[row] + (row + 1) * MESSAGE_OVERHEAD_BYTES

        rows = range(len(ends))
        last = min(
            rows[-1],
            bisect_left(ends, self.bodies),
            bisect_left(rows, self.room, key=accounted),
        )
        self.sequences.extend(sequences[: last + 1])
        self.positions.extend(positions[: last + 1])
        self.bodies -= ends[last]
        self.room -= accounted(last)
        self.enough = self.room <= 0 or self.bodies <= 0 or last + 1 == most
