"""Deduplication windows: keys of messages that an exchange or a queue has seen, bounded in number
and in time.

The window is a queue that nobody can name. A message that is new goes to it beside the queues that
it is for, so that one record of the log has both or neither. At the end of the input its entry is
moved to one that holds the key alone: the body is not kept for it, neither in memory nor on disk.
So the window needs no record of its own kind, is there after a crash, and does not depend on what
became of the message. It is read at a start, before any client is heard.

A queue that refuses the message (reject-publish) keeps it out of the window: its publisher is told,
and may try again.
"""

from __future__ import annotations

from array import array
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.queue_arguments import QueueArguments
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import MESSAGE_ID, HeaderFacts
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.queue.enqueue import store
from reference_broker.core.queue.queue import Queue

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.queue.ports import QueueEnvironment

_MOVE_UNITS = 4
"""A message's entry becomes one of its key: a record, and the key once more."""

LOADED_AT_ONCE = 1_000
"""Keys that one read brings back at a start."""

KEY_BYTES = 100
"""Accounted for each key: a digest, its sequence, and the place of both."""

_EVERY_KEY_HAS_A_TIME = QueueArguments(message_ttl_ms=0)


class DeduplicationWindow:
    """The window of one exchange or queue, and the
    :class:`~reference_broker.core.queue.expiry.Expiry` of the ``queue`` that it is."""

    __slots__ = (
        "_deadline", "_fresh", "_moving", "_sequences", "_unread", "queue", "rule", "watching"
    )  # fmt: skip
    wants_all = True

    def __init__(
        self, owner: str, rule: DeduplicationRule, id: int, env: QueueEnvironment, *, durable: bool
    ) -> None:
        """``owner`` is whose window it is, in words; it is in the log if that is ``durable``."""
        self.rule = rule
        self.queue = Queue(
            id=id,
            name=f"seen by {owner}",
            durable=durable and rule.in_log,
            auto_delete=False,
            owner=None,
            arguments={},
            limits=_EVERY_KEY_HAS_A_TIME,
            env=env,
            expiry=lambda _: self,
        )
        self._sequences: dict[bytes, int] = {}
        """Of each key the newest entry, oldest first."""
        self._fresh: deque[tuple[int, Content]] = deque()
        """Entries that came since the last look, which have their message still."""
        self._moving: tuple[bytes, int] | None = None
        """Key and expiry of the entry that is being moved."""
        self._unread: list[int] = []
        """Recovery: entries whose key is on disk, the last one first."""
        self._deadline: Deadline | None = None
        self.watching = False

    @property
    def loading(self) -> bool:
        """Recovery is not over: keys are still to be read."""
        return bool(self._unread)

    def __len__(self) -> int:
        return len(self._sequences)

    def knows(self, message: MessageHeaders) -> bool | None:
        """True for a message that came before; ``None`` for one without a key to tell it by."""
        key = self.rule.key_of(message)
        if key is None:
            return None
        sequence = self._sequences.get(key)
        if sequence is None:
            return False
        return self.queue.index.expires_at(sequence) > self.queue.env.moment.wall_ms

    # The expiry of its queue

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of the keys."""
        return len(self._sequences) * KEY_BYTES

    def discards_new(self) -> bool:
        """Never: every key has its time."""
        return False

    def stamp(self, content: Content, facts: HeaderFacts, sequence: int) -> int:
        """Note that the key of a new message, or the one that is being moved, has ``sequence``;
        returns the wall ms at which the key is forgotten."""
        if self._moving is not None:
            key, expires_at = self._moving
        else:
            message = MessageHeaders(content.header)
            found = self.rule.key_of(message)
            assert found is not None, "a message that has no key was routed to the window"
            key = found
            expires_at = self.queue.env.moment.wall_ms + self.rule.ttl_of(message)
            self._fresh.append((sequence, content))
        self._sequences.pop(key, None)
        self._sequences[key] = sequence
        self.watching = True
        return expires_at

    def restored(self) -> None:
        """Recovery: the entries are here, and their keys are read one portion after the other."""
        self._unread = [sequence for sequence, _, _ in self.queue.index.ready_from(0)]
        self._unread.reverse()
        self.watching = bool(self._unread)

    def may_have_left(self, sequence: int, content: Content) -> bool:
        """False: a key goes nowhere."""
        return False

    def drop_overdue(self) -> bool:
        """True: nobody is served from here."""
        return True

    def drop_due(self) -> bool:
        """Let go of the messages, and of keys that are too many or too old."""
        if self._unread and not self._load():
            return True  # The queue is dispatched again when they are here.
        budget = self.queue.env.budget
        while self._fresh:
            if budget.left <= 0:
                return False
            budget.left -= _MOVE_UNITS
            sequence, content = self._fresh.popleft()
            if self.queue.index.ready_entry(sequence) is not None:
                self._move(sequence, content)
        return self._forget_the_oldest()

    def cancel(self) -> None:
        """Its owner is deleted."""
        self.watching = False
        self._sequences.clear()
        if self._deadline is not None:
            self._deadline.cancel()

    def _move(self, sequence: int, content: Content) -> None:
        """The entry of a message becomes one of its key alone."""
        queue = self.queue
        key = self.rule.key_of(MessageHeaders(content.header))
        assert key is not None
        self._moving = key, queue.index.expires_at(sequence)
        queue.backlog.taken(sequence, content)
        queue.index.take_at(sequence)
        header = encode_header(0, Properties(message_id=key.hex()))
        death = Death(queue, sequence, content, DeathReason.EXPIRED)
        facts = HeaderFacts(persistent=death.is_logged, priority=0)
        store([queue], Content(b"", header, b""), facts, queue.env, death)
        self._moving = None
        queue.backlog.let_go(self._sequences[key])

    def _forget_the_oldest(self) -> bool:
        queue, index = self.queue, self.queue.index
        now_ms = queue.env.moment.wall_ms
        while (sequence := index.head_sequence()) is not None:
            if index.ready <= self.rule.size and index.expires_at(sequence) > now_ms:
                break
            if queue.env.budget.left <= 0:
                return False
            queue.env.budget.left -= 1
            oldest = next(iter(self._sequences), None)
            if oldest is not None and self._sequences[oldest] == sequence:
                del self._sequences[oldest]
            queue.drop_head(index, DeathReason.EXPIRED)
        self._watch_head()
        return True

    def _watch_head(self) -> None:
        when_ms = self.queue.index.head_expires_at()
        self.watching = when_ms is not None
        if when_ms is None or (self._deadline is not None and self._deadline.pending):
            return  # One that comes early finds nothing to do, and is set again.
        self._deadline = self.queue.env.deadlines.at(when_ms, self._time_has_come)

    def _time_has_come(self) -> None:
        self.queue.env.mark_dirty(self.queue)

    def _load(self) -> bool:
        """Take the keys that have been read, and ask for the next ones; true when all are here."""
        queue = self.queue
        while self._unread:
            sequence = self._unread[-1]
            content = queue.contents.get(sequence)
            if content is None and queue.index.ready_entry(sequence) is not None:
                if not queue.backlog.fetching:
                    portion = islice(reversed(self._unread), LOADED_AT_ONCE)
                    queue.backlog.fetch(array("Q", portion))
                return False
            self._unread.pop()
            if content is not None:
                self._take_over(sequence, content)
        return True

    def _take_over(self, sequence: int, content: Content) -> None:
        message = MessageHeaders(content.header)
        if content.route:  # the broker stopped before this was moved
            key = self.rule.key_of(message)
            self._fresh.append((sequence, content))
        else:
            key = bytes.fromhex((message.property(MESSAGE_ID) or b"")[1:].decode())
        if key is not None:
            self._sequences.pop(key, None)
            self._sequences[key] = sequence
        self.queue.backlog.let_go(sequence)
