"""Another id for a queue of a log: its messages are copied under the new one.

The node of a cluster whose folder was a single node's has queues with ids that another node's may
have, too. The order is that of every change of a log: the copies first, then the definition with
the new id, then the acks of the old entries. After a crash in between, either the copies are of a
queue that nobody knows, or the old entries are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from reference_broker.core.exchange.definitions import decode_queue, encode_queue
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.definition_keys import COUNT, COUNTS, DELAYS
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.store.disk.ports import Disk
from reference_broker.store.log.log import Log
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.start.recovered import RecoveredLog

SLICE_MESSAGES = 256
SLICE_BYTES = 4 * 1024 * 1024
"""Of the bodies that are read at once, unless one of them is larger."""

_EVERYWHERE = 1 << 63
_BY_QUEUE = (COUNTS, COUNT, DELAYS)


def renumbered(
    log: Log, recovered: RecoveredLog, disk: Disk, key: str, new_id: int
) -> Iterator[None]:
    """The steps of giving the queue that ``key`` defines the id ``new_id``, which nobody else has.
    ``recovered`` has its messages, and is a source of entries of ``log``. After each step have the
    log synced, as what it has to write is in memory. Raises ``OSError`` as the disk gives it."""
    definition = decode_queue(recovered.definitions[key])
    old = recovered.queues.get(definition.id, {})
    new = recovered.queues[new_id] = {}
    for level, index in old.items():
        new[level] = QueueIndex()
        for columns in _slices(index, definition.id):
            _copy(log, disk, columns, Entry(new_id, 0, 0, level), new[level])
            yield
    _define(log, recovered, key, encode_queue(definition._replace(id=new_id)))
    _rename_counts(log, recovered, key, definition.id, new_id)
    for index in old.values():
        for columns in _slices(index, definition.id):
            _end(log, columns, index)
            yield
    recovered.queues.pop(definition.id, None)
    if definition.id in recovered.damage.lost:
        recovered.damage.lost[new_id] = recovered.damage.lost.pop(definition.id)


def _slices(index: QueueIndex, queue_id: int) -> Iterator[EntryColumns]:
    for columns in list(index.live_columns(queue_id, 0, _EVERYWHERE)):
        start = size = 0
        for end, each in enumerate(columns.sizes):
            if end > start and (end - start >= SLICE_MESSAGES or size + each > SLICE_BYTES):
                yield columns.part(start, end)
                start, size = end, 0
            size += each
        yield columns.part(start, len(columns.sizes))


def _copy(log: Log, disk: Disk, columns: EntryColumns, entry: Entry, index: QueueIndex) -> None:
    """Log the messages of ``columns`` once more, for the queue and the level of ``entry``."""
    contents = _read(log, disk, columns)
    for place, sequence in enumerate(columns.sequences):
        content = contents.get(sequence)
        if content is None:
            continue  # damaged: it is counted with the queue's losses
        expires_at_ms = 0 if columns.expiries is None else columns.expiries[place]
        redelivered = columns.states[place] == EntryState.REDELIVERED
        copy = content.again()
        log.publish((entry._replace(sequence=sequence, expires_at_ms=expires_at_ms),), copy)
        index.restore(
            sequence, copy.position, len(copy.body), copy.stored, redelivered, expires_at_ms
        )
        if redelivered:
            log.requeue(entry.queue_id, sequence, copy.position)


def _read(log: Log, disk: Disk, columns: EntryColumns) -> dict[int, Content | None]:
    log.fetch(columns.queue_id, array("Q", columns.sequences), columns.positions)
    found: dict[int, Content | None] = {}
    for job in take_reads(log):
        found.update(perform(disk, job).fetched.contents)
    return found


def _end(log: Log, columns: EntryColumns, index: QueueIndex) -> None:
    """Ack the old entries: another node's queue of their id is nothing of theirs."""
    rows = zip(columns.sequences, columns.positions, columns.stored, strict=True)
    for sequence, position, stored in rows:
        log.ack(columns.queue_id, sequence, position, stored)
        index.forget(sequence)


def _rename_counts(log: Log, recovered: RecoveredLog, key: str, old_id: int, new_id: int) -> None:
    """Have the counts and delays of the messages be those of the queue's new id."""
    vhost = key.split("/")[1]
    for kind in _BY_QUEUE:
        prefix = f"{kind}/{vhost}/{old_id}/"
        for each in [known for known in recovered.definitions if known.startswith(prefix)]:
            renamed = f"{kind}/{vhost}/{new_id}/{each.removeprefix(prefix)}"
            _define(log, recovered, renamed, recovered.definitions[each])
            _define(log, recovered, each, None)


def _define(log: Log, recovered: RecoveredLog, key: str, value: bytes | None) -> None:
    log.define(key, value)
    if value is None:
        del recovered.definitions[key]
    else:
        recovered.definitions[key] = value
