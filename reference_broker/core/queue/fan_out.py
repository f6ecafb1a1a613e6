"""A message on its way into many queues, some of them a turn.

Each portion is one record of the log, with the message in it: so a portion grows with the body, or
a message of a megabyte would be written again for every few queues. A queue that is deleted before
its portion has not got the message. A deduplication window is told last, when all queues took the
message: after a crash in between it may come twice, and is not missing where it was to be. Until
then the message is on its way (:mod:`arriving`), and one that repeats it waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.index import CHUNK_ENTRIES
from reference_broker.core.queue.death import is_in_doubt
from reference_broker.core.queue.enqueue import require_rest, store, those_that_take
from reference_broker.core.work.budget import DEAD_LETTER_UNITS, FAN_OUT_UNITS
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.death import Death
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.queue.transfer import Departure
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.task import Steps

PORTION_QUEUES = 500
"""Queues of one portion of a small message, at most: some 2 ms."""

BODY_BYTES_PER_QUEUE = 64
"""Octets of a body for which a portion has one more queue: writing the body again would cost more
than that queue does."""

PORTION_QUEUES_MAX = 2_000
"""Queues of any portion, at most: some 10 ms."""

FEW_QUEUES = 50
"""Queues that are not asked for the growth of their dictionaries: it is a few ms for all."""

MOVED_PER_UNIT = 100
"""Messages in memory that take a unit to move into a larger dictionary."""

_FULL = frozenset((2 << bits) // 3 for bits in range(8, 31))
"""Messages with which CPython's dictionary is full, two thirds of a power of two, and made anew at
twice its size for the next one: 50 us with 2,730 of them, for each of a thousand queues."""

ROWS_MOVED_PER_UNIT = 500
"""Entries of an index that take a unit to move into larger columns."""


def _full_columns() -> Iterator[int]:
    entries = 0
    while entries < CHUNK_ENTRIES:
        yield entries
        entries += 1  # which finds no room
        entries += (entries >> 4) + (3 if entries < 9 else 7)


_FULL_COLUMNS = frozenset(_full_columns())
"""Entries with which CPython's arrays are full, and made anew a sixteenth larger for the next one:
10 us with 3,000 of them, for each of a thousand queues."""


class FanOut:
    """The distribution of ``content``: to ``queues``, which are different ones. ``source`` is the
    death or departure that it comes from; its entry is gone with the last portion, and not before.

    ``reached`` counts the queues that have the message, and ``refused`` is true when one refused
    it.
    """

    __slots__ = (
        "_arriving", "_content", "_env", "_facts", "_next", "_portion", "_queues", "_redelivered",
        "_source", "_windows",
        "reached", "refused",
    )  # fmt: skip

    def __init__(
        self,
        queues: Sequence[Queue],
        content: Content,
        facts: HeaderFacts,
        env: QueueEnvironment,
        source: Death | Departure | None = None,
    ) -> None:
        self._windows: list[Queue] = []
        self._queues = queues
        self._next = 0
        self._content = content
        self._facts = facts
        self._env = env
        self._source = source
        self._redelivered = source is not None and is_in_doubt(source)
        self._portion = portion_of(content)
        # The router names windows last.
        is_noted = queues[-1].expiry.wants_all
        self._arriving = env.arriving.begin(content.header) if is_noted else ()
        self.reached = 0
        self.refused = False

    def advance(self) -> bool:
        """Put the message into the queues of one portion, or several, until the budget is spent.
        True when all have it. Raises :exc:`NotYet` for a message that a client publishes: come
        again when that queue is at rest."""
        budget = self._env.budget
        while budget.left > 0:
            count = self._portion
            units = FAN_OUT_UNITS + _growth_units(self._queues[self._next])
            if units > FAN_OUT_UNITS or len(self._content.body) <= BODY_BYTES_PER_QUEUE:
                count = min(count, -(-budget.left // units))
            there = [q for q in self._queues[self._next : self._next + count] if not q.deleted]
            portion = [queue for queue in there if not queue.expiry.wants_all]
            if self._source is None:
                require_rest(portion)
            self._next += count
            self._windows += [queue for queue in there if queue.expiry.wants_all]
            budget.left -= units * len(portion)
            taking = those_that_take(portion, self._content)
            self.refused |= len(taking) < len(portion)
            if self._next >= len(self._queues):
                self._end_with(taking)
                return True
            self._store(taking, None)
        return False

    def dispatch(self) -> bool:
        """:meth:`advance`, of a dead letter that is urgent."""
        return self.advance()

    def _end_with(self, taking: list[Queue]) -> None:
        if not self.refused:
            taking += [window for window in self._windows if not window.deleted]
        source = self._source
        if source is not None and not is_there(source):
            source = None  # its queue was deleted with it
        if taking or source is not None:
            self._store(taking, source)
        if self._arriving:
            self._env.arriving.end(self._arriving)

    def _store(self, queues: list[Queue], source: Death | Departure | None) -> None:
        self.reached += len(queues)
        content = self._content.again()
        store(queues, content, self._facts, self._env, source, self._redelivered)


def is_too_many(queues: Sequence[Queue], budget: Budget) -> bool:
    """True for queues that the rest of the turn has no time for."""
    count = len(queues)
    if count <= FEW_QUEUES:
        return count > 1 and FAN_OUT_UNITS * count > budget.left
    return (FAN_OUT_UNITS + _growth_units(queues[0])) * count > budget.left


def distribute(
    queues: Sequence[Queue],
    content: Content,
    facts: HeaderFacts,
    env: QueueEnvironment,
    source: Death | Departure,
) -> bool:
    """Put a message that comes from a queue into others: at once, or where they are more than the
    turn has room for, in portions that go before everything else. False when no queue took it."""
    if is_too_many(queues, env.budget):
        env.mark_urgent(FanOut(queues, content, facts, env, source))
        return True
    env.budget.left -= DEAD_LETTER_UNITS + FAN_OUT_UNITS * len(queues)
    taking = those_that_take(queues, content)
    store(taking, content, facts, env, source, is_in_doubt(source))
    return bool(taking)


def _growth_units(queue: Queue) -> int:
    """Units beside the usual ones where the next message has the dictionary of a queue's messages,
    or the columns of its index, be made anew. Queues that get all their messages together grow with
    the same one, so this is asked of one queue for its portion."""
    messages, rows = len(queue.contents), queue.index.tail % CHUNK_ENTRIES
    units = messages // MOVED_PER_UNIT if messages in _FULL else 0
    return units + rows // ROWS_MOVED_PER_UNIT if rows in _FULL_COLUMNS else units


def is_there(source: Death | Departure) -> bool:
    """True while the message is in the queue that it is to leave, if it ever was."""
    if source.sequence < 0:
        return True
    index = source.queue.index_of(source.sequence)
    return index.state_of(source.sequence) is EntryState.TAKEN


def all_of(fan_out: FanOut) -> Steps:
    """The steps until all queues have the message, where a client publishes it."""
    while True:
        try:
            if fan_out.advance():
                return
            yield None
        except NotYet as wait:
            yield wait.until


def portion_of(content: Content) -> int:
    """Queues of one portion of a message."""
    return min(PORTION_QUEUES_MAX, PORTION_QUEUES + len(content.body) // BODY_BYTES_PER_QUEUE)
