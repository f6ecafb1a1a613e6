"""How often each message of a quorum queue was handed out and came back.

    x-delivery-count    failed deliveries: every return but one by consumer timeout
    x-acquired-count    all returns; both are on deliveries from the second one on (RabbitMQ 4)

A count is a definition in the log, ``count/virtual host/queue id/sequence``, of two u32 after a
version octet: few messages come back, so that nothing has to be stored for the many that don't. It
survives a restart. What became of the message is looked up now and then, in a sweep, so that an
ack costs nothing: a count may outlive its message for a while, and at a crash; no sequence is given
twice, so it harms nobody.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from mqkit.wire import Typed, encode_table
from reference_broker.core import definition
from reference_broker.core.content import Content
from reference_broker.core.entry_state import EntryState
from reference_broker.core.header import HEADERS, join_properties, split_properties
from reference_broker.core.priority import LEVEL_SHIFT
from reference_broker.core.queue_type import DEFAULT_DELIVERY_LIMIT
from reference_broker.core.x_death import readable_table
from reference_broker.errors import Corrupt

if TYPE_CHECKING:
    from reference_broker.core.journal import Journal
    from reference_broker.core.lease import Lease
    from reference_broker.core.queue import Queue

VERSION = 1
SWEEP_ABOVE = 16
"""Counts whose messages may be gone before a sweep is worth it, beside as many as are not."""

COUNT_BYTES = 512
"""Accounted for each: its key, and its places in two dictionaries and in the log's definitions."""

_LAYOUT = struct.Struct(">BII")
_COUNT_MAX = (1 << 32) - 1


class Counts(NamedTuple):
    """Of one message. ``failed`` is compared with the delivery limit."""

    failed: int = 0
    acquired: int = 0


class DeliveryCounts:
    """The counts of one queue's messages that have come back."""

    __slots__ = ("_by_sequence", "_queue", "_sweep_at")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._by_sequence: dict[int, Counts] = {}
        self._sweep_at = SWEEP_ABOVE

    def __len__(self) -> int:
        """Counts that are kept, of messages that are gone too."""
        return len(self._by_sequence)

    @property
    def memory_bytes(self) -> int:
        """What they are accounted for."""
        return len(self._by_sequence) * COUNT_BYTES

    def of(self, sequence: int) -> Counts:
        """The counts of a message, none where it never came back."""
        return self._by_sequence.get(sequence, Counts())

    def returned(self, sequence: int, *, failed: bool) -> bool:
        """Count a return; false when it was one too many: the message is not to be handed out
        again."""
        before = self.of(sequence)
        limit = self._queue.limits.delivery_limit
        if limit is None:
            limit = DEFAULT_DELIVERY_LIMIT
        if failed and 0 <= limit <= before.failed:
            return False
        self._keep(
            sequence,
            Counts(
                min(before.failed + failed, _COUNT_MAX),
                min(before.acquired + 1, _COUNT_MAX),
            ),
        )
        if len(self._by_sequence) > self._sweep_at:
            self._sweep()
        return True

    def moved(self, old: int, new: int) -> None:
        """A message has another sequence now."""
        self._keep(new, self.of(old))
        self._forget(old)

    def restore(self, sequence: int, counts: Counts) -> None:
        """Recovery: as it is in the log."""
        self._by_sequence[sequence] = counts

    def clear(self) -> None:
        """The queue is deleted."""
        for sequence in list(self._by_sequence):
            self._forget(sequence)

    def _keep(self, sequence: int, counts: Counts) -> None:
        self._by_sequence[sequence] = counts
        self._queue.env.journal.define(self._key(sequence), _LAYOUT.pack(VERSION, *counts))

    def _forget(self, sequence: int) -> None:
        del self._by_sequence[sequence]
        self._queue.env.journal.define(self._key(sequence), None)

    def _key(self, sequence: int) -> str:
        queue = self._queue
        return (
            f"{definition.key_prefix(definition.COUNT, queue.env.vhost_name)}{queue.id}/{sequence}"
        )

    def _sweep(self) -> None:
        """Forget the counts of messages that are gone. The next one comes when there are twice as
        many as are left, so it costs each count a constant."""
        index, levels = self._queue.index, self._queue.levels
        for sequence in list(self._by_sequence):
            if levels is not None:
                index = levels.index_at(sequence >> LEVEL_SHIFT)
            if index.state_of(sequence) is EntryState.GONE:
                self._forget(sequence)
        self._sweep_at = 2 * len(self._by_sequence) + SWEEP_ABOVE


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
    queues that are gone are forgotten there too.

    Raises :exc:`Corrupt` for a count that can't be read.
    """
    prefix = definition.key_prefix(definition.COUNT, vhost_name)
    for key, value in list(definitions.items()):
        if not key.startswith(prefix):
            continue
        try:
            queue_id, sequence = map(int, key.removeprefix(prefix).split("/"))
            version, failed, acquired = _LAYOUT.unpack(value)
        except (ValueError, struct.error) as error:
            raise Corrupt(f"a delivery count can't be read: {error}") from error
        if version != VERSION:
            raise Corrupt(f"a delivery count has layout {version}; this broker reads {VERSION}")
        queue = queues.get(queue_id)
        if queue is None or queue.delivery_counts is None:
            journal.define(key, None)
        else:
            queue.delivery_counts.restore(sequence, Counts(failed, acquired))
