"""Delivery counts: how often each message of a quorum queue was handed out and came back.

    x-delivery-count    failed deliveries: every return but one by consumer timeout
    x-acquired-count    all returns; both are on deliveries from the second one on (RabbitMQ 4)

Counts are definitions in the log: few messages come back, so that nothing has to be stored for the
many that don't. Those of up to 64 messages that follow each other are one, as what comes back
together mostly stands together (a lost connection may give back 65,535)::

    counts/virtual host/queue id/sequence >> 6    | 1 | place u8, failed u32, acquired u32 | ...
    count/virtual host/queue id/sequence          | 1 | failed u32, acquired u32 |  (read only)

They survive a restart. What became of a message is looked up now and then, in a sweep, so that an
ack costs nothing: a count may outlive its message for a while, until the queue is empty at the
latest; no sequence is given twice, so it harms nobody.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mqkit.wire import Typed, encode_table
from reference_broker.core.arguments.queue_type import DEFAULT_DELIVERY_LIMIT
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.priority import LEVEL_SHIFT
from reference_broker.core.journal.definition_keys import COUNT, COUNTS, key_prefix
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import HEADERS, join_properties, split_properties
from reference_broker.core.message.header_table import readable_table
from reference_broker.errors import Corrupt

if TYPE_CHECKING:
    from reference_broker.core.journal.journal import Journal
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue

VERSION = 1
SWEEP_ABOVE = 16
"""Counts whose messages may be gone before a sweep is worth it, beside as many as are not."""

COUNT_BYTES = 128
"""Accounted for each: its key and numbers, its place in a dictionary, and its share of a definition
of the log, which it may have to itself."""

BLOCK_BITS = 6
"""Sequences of one definition: a lone return writes 10 bytes, or 577 among many that returned."""

_PLACES = 1 << BLOCK_BITS
_SINGLE = struct.Struct(">BII")
_PLACED = struct.Struct(">BII")
_COUNT_MAX = (1 << 32) - 1


class Counts(NamedTuple):
    """Of one message. ``failed`` is compared with the delivery limit."""

    failed: int = 0
    acquired: int = 0


NEVER = Counts()


@lru_cache
def _one_more(counts: Counts, failed: bool) -> Counts:
    """After one more return. Messages that come back together mostly share theirs."""
    return Counts(min(counts.failed + failed, _COUNT_MAX), min(counts.acquired + 1, _COUNT_MAX))


class DeliveryCounts:
    """The counts of one queue's messages that have come back. What is changed here is in the
    journal after :meth:`write`, which whoever changes it calls before the input ends."""

    __slots__ = ("_by_sequence", "_changed", "_key_prefix", "_queue", "_sweep_at")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._by_sequence: dict[int, Counts] = {}
        self._changed: dict[int, None] = {}
        """Blocks that the journal has otherwise, or not at all."""
        prefix = key_prefix(COUNTS, queue.env.vhost_name)
        self._key_prefix = f"{prefix}{queue.id}/"
        self._sweep_at = SWEEP_ABOVE

    def __len__(self) -> int:
        """Counts that are kept, of messages that are gone too."""
        return len(self._by_sequence)

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of all counts."""
        return len(self._by_sequence) * COUNT_BYTES

    def of(self, sequence: int) -> Counts:
        """The counts of a message, none where it never came back."""
        return self._by_sequence.get(sequence, NEVER)

    def returned(self, sequence: int, *, failed: bool) -> bool:
        """Count a return; false when it was one too many: the message is not to be handed out
        again."""
        before = self.of(sequence)
        limit = self._queue.limits.delivery_limit
        if limit is None:
            limit = DEFAULT_DELIVERY_LIMIT
        if failed and 0 <= limit <= before.failed:
            return False
        self._keep(sequence, _one_more(before, failed))
        return True

    def moved(self, old: int, new: int) -> None:
        """A message has another sequence now."""
        self._keep(new, self.of(old))
        self._forget(old)

    def write(self) -> None:
        """Journal what has changed, and sweep where it may be worth it: when there are twice as
        many as the last sweep has left, so it costs each count a constant."""
        if len(self._by_sequence) > self._sweep_at:
            self.sweep()
        changed, self._changed = self._changed, {}
        for block in changed:
            self._queue.env.journal.define(f"{self._key_prefix}{block}", self._encoded(block))

    def restore(self, block: int, value: bytes) -> None:
        """Recovery: a definition as it is in the log. Raises :exc:`Corrupt`, or ``struct.error``
        for one that is cut."""
        _check_version(value[:1])
        for place, failed, acquired in _PLACED.iter_unpack(value[1:]):
            self._by_sequence[(block << BLOCK_BITS) + place] = Counts(failed, acquired)

    def restore_one(self, sequence: int, value: bytes) -> None:
        """Recovery: a message's own definition, of an earlier version. Raises the same way."""
        _check_version(value[:1])
        _, failed, acquired = _SINGLE.unpack(value)
        if sequence not in self._by_sequence:  # it was written anew before a crash
            self._keep(sequence, Counts(failed, acquired))

    def clear(self) -> None:
        """No message is left."""
        for sequence in self._by_sequence:
            self._changed[sequence >> BLOCK_BITS] = None
        self._by_sequence.clear()
        self.write()

    def sweep(self) -> None:
        """Forget the counts of messages that are gone; call :meth:`write`."""
        index, levels = self._queue.index, self._queue.levels
        for sequence in list(self._by_sequence):
            if levels is not None:
                index = levels.index_at(sequence >> LEVEL_SHIFT)
            if index.state_of(sequence) is EntryState.GONE:
                self._forget(sequence)
        self._sweep_at = 2 * len(self._by_sequence) + SWEEP_ABOVE

    def _keep(self, sequence: int, counts: Counts) -> None:
        self._by_sequence[sequence] = counts
        self._changed[sequence >> BLOCK_BITS] = None

    def _forget(self, sequence: int) -> None:
        del self._by_sequence[sequence]
        self._changed[sequence >> BLOCK_BITS] = None

    def _encoded(self, block: int) -> bytes | None:
        """``None`` where nothing is left to say."""
        first = block << BLOCK_BITS
        known = self._by_sequence
        rows = [
            _PLACED.pack(place, *counts)
            for place in range(_PLACES)
            if (counts := known.get(first + place)) is not None
        ]
        return bytes((VERSION,)) + b"".join(rows) if rows else None


def shown_content(lease: Lease) -> Content:
    """The message as its holder is to see it: with its counts, where its queue keeps some and it
    has come back before."""
    content, counting = lease.content, lease.queue.delivery_counts
    if counting is None or not lease.redelivered:
        return content
    counts = counting.of(lease.sequence)
    properties = split_properties(content.header)
    headers = readable_table(properties.get(HEADERS))
    headers["x-delivery-count"] = Typed("l", counts.failed)
    headers["x-acquired-count"] = Typed("l", counts.acquired)
    properties[HEADERS] = encode_table(headers)
    return Content(content.route, join_properties(content.header, properties), content.body)


def restore_counts(
    definitions: Mapping[str, bytes],
    vhost_name: str,
    queues: Mapping[int, Queue],
    journal: Journal,
) -> None:
    """Recovery: give the queues of a virtual host, by id, the counts that the log has. Those of
    queues that are gone are forgotten there too. When the messages are there, sweep and write.

    Raises :exc:`Corrupt` for a count that can't be read.
    """
    for kind in (COUNTS, COUNT):
        prefix = key_prefix(kind, vhost_name)
        for key, value in list(definitions.items()):
            if not key.startswith(prefix):
                continue
            counting = None
            try:
                queue_id, number = map(int, key.removeprefix(prefix).split("/"))
                queue = queues.get(queue_id)
                counting = None if queue is None else queue.delivery_counts
                if counting is not None:
                    if kind == COUNTS:
                        counting.restore(number, value)
                    else:
                        counting.restore_one(number, value)
            except (ValueError, struct.error) as error:
                raise Corrupt(f"a delivery count can't be read: {error}") from error
            if counting is None or kind == COUNT:
                journal.define(key, None)


def _check_version(octet: bytes) -> None:
    if octet != bytes((VERSION,)):
        raise Corrupt(
            f"a delivery count has layout {int.from_bytes(octet)}; this broker reads {VERSION}"
        )
