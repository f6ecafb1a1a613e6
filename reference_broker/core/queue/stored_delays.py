"""Until when each message of a queue has to wait that came back with ``x-requeue-delay``, as the
journal has it.

Definitions, in blocks of up to 64 messages that follow each other: what comes back together is put
behind the queue together::

    ~delays/virtual host/queue id/sequence >> 6    | 1 | place u8, due u64 wall ms | ...

A block is written anew when something is added, and removed when nothing of it waits any more. So
it may name messages that wait no more: their times are over, or they are gone, and no sequence is
given twice. For an earlier version to pass over them does no harm: the messages are ready at once.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reference_broker.core.journal.definition_keys import DELAYS, key_prefix
from reference_broker.errors import Corrupt

if TYPE_CHECKING:
    from reference_broker.core.journal.journal import Journal
    from reference_broker.core.queue.queue import Queue

VERSION = 1

BLOCK_BITS = 6
"""Sequences of one definition: a lone return writes 10 bytes, or 577 among many that wait."""

_PLACES = 1 << BLOCK_BITS
_PLACED = struct.Struct(">BQ")


class StoredDelays:
    """The due times (wall ms) of one queue's messages, by sequence. What is changed here is in the
    journal after :meth:`write`, which whoever changes it calls before the input ends."""

    __slots__ = ("_changed", "_due", "_queue")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._due: dict[int, int] = {}
        self._changed: dict[int, bool] = {}
        """Blocks, and whether they say something new."""

    def add(self, sequence: int, due_ms: int) -> None:
        """A stored message has to wait."""
        self._due[sequence] = due_ms
        self._changed[sequence >> BLOCK_BITS] = True

    def remove(self, sequence: int) -> None:
        """It doesn't any more. Nothing happens for one that isn't here."""
        if self._due.pop(sequence, None) is not None:
            self._changed.setdefault(sequence >> BLOCK_BITS, False)

    def clear(self) -> None:
        """The queue is deleted. There is no need to write."""
        for sequence in list(self._due):
            self.remove(sequence)
        self.write()

    def write(self) -> None:
        """Journal what has changed."""
        if not self._changed:
            return
        queue = self._queue
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
