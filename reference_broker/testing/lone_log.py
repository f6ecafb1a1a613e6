"""A log without a broker: each queue is an index, and the disk is in memory.

    log, disk, queues = opened()
    queues.publish()
    pump(log, disk)
    assert sequences(disk) == [1]

For tests of the store, and for whoever wants to see a log alone. Bytes are on the disk after
:func:`pump`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry, EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Batch, Log, RecoveredLog, open_log
from reference_broker.store.format.checksum import PREFERRED, checksum_of
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.scan import Found, SegmentScan
from reference_broker.store.format.segment import SEGMENT_BYTES, SegmentName
from reference_broker.store.rewrite.rewrite import build
from reference_broker.store.start.recovery import recover


class LiveContents(dict[int, Content]):
    """The live messages of one queue, by sequence, without an index. It is an
    :class:`~reference_broker.core.journal.journal.EntrySource` of whichever queue it is asked for:
    attach it to a log, and take a message out of it when it is acked."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """As :class:`~reference_broker.core.journal.journal.EntrySource` has it."""
        found = {s: c for s, c in self.items() if start <= c.position < end}
        if found:
            yield EntryColumns(
                queue_id,
                array("Q", found),
                array("q", [content.position for content in found.values()]),
                array("I", [len(content.body) for content in found.values()]),
                array("I", [content.stored for content in found.values()]),
                bytes(len(found)),
                None,
            )


class LoneQueues:
    """The broker of ``log``, as the log sees it: publishes and acks, and knows the live entries.
    ``indexes`` are the queues, by id; 7 is the one that is meant when none is named."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.indexes: dict[int, QueueIndex] = {}
        log.attach(self)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """As :class:`~reference_broker.core.journal.journal.EntrySource` has it."""
        if queue_id in self.indexes:
            yield from self.indexes[queue_id].live_columns(queue_id, start, end)

    def index(self, queue_id: int) -> QueueIndex:
        """The queue, which is made if it is not there."""
        return self.indexes.setdefault(queue_id, QueueIndex(1))

    def publish(self, size: int = 10, queue_ids: Sequence[int] = (7,)) -> Content:
        """Log one message with a body of ``size`` bytes, and enter it into each queue."""
        entries = [Entry(queue_id, self.index(queue_id).tail) for queue_id in queue_ids]
        content = Content(b"\x01e\x01k", b"header", bytes(size))
        self.log.publish(entries, content)
        self.enter(entries, content)
        return content

    def enter(self, entries: Sequence[Entry], content: Content) -> None:
        """Enter a message that was logged into the indexes of its queues."""
        for entry in entries:
            index = self.index(entry.queue_id)
            index.append(content.position, len(content.body), content.stored)

    def take(self, queue_id: int = 7) -> int:
        """Hand out the first ready message: its sequence. There must be one."""
        taken = self.indexes[queue_id].take()
        assert taken is not None
        return taken[0]

    def ack(self, queue_id: int = 7, sequence: int | None = None) -> None:
        """Ack a message that was taken; without ``sequence``, take the first one and ack it."""
        if sequence is None:
            sequence = self.take(queue_id)
        entry = self.indexes[queue_id].entry(sequence)
        self.indexes[queue_id].settle(sequence)
        self.log.ack(queue_id, sequence, entry.position, entry.stored)


def opened(segment_bytes: int = SEGMENT_BYTES) -> tuple[Log, SimulatedDisk, LoneQueues]:
    """A new log on a new disk, and its queues, of which there are none yet."""
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=segment_bytes)
    return log, disk, LoneQueues(log)


def adopted(log: Log, recovered: RecoveredLog) -> LoneQueues:
    """The queues as a restart has recovered them, for the ``log`` that was opened with them."""
    queues = LoneQueues(log)
    queues.indexes = {queue_id: levels[0] for queue_id, levels in recovered.queues.items()}
    return queues


def pump(log: Log, disk: SimulatedDisk) -> Batch | None:
    """Write the pending batch to the disk, and report it synced, acks too. Returns it; ``None`` if
    nothing was pending."""
    log.awaited = log.tail
    batch = log.take_batch()
    if batch is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    return batch


def settle_down(log: Log, disk: SimulatedDisk, *, rewriting: bool = True) -> None:
    """Write, rewrite and delete until there is nothing to do any more. Raises
    :exc:`AssertionError` for a log that never comes to rest."""
    for _ in range(1000):
        plan = log.begin_rewrite() if rewriting else None
        if plan is not None:
            log.finish_rewrite(plan, build(plan, disk))
        if pump(log, disk) is None:
            return
    raise AssertionError("it never ends")


def segments(disk: SimulatedDisk) -> list[str]:
    """The names of the log's files, oldest first."""
    return sorted(file for file in disk.list_files() if file.endswith(".segment"))


def records(disk: SimulatedDisk, file: str | None = None) -> list[Found]:
    """All sound records of a segment, of the newest one where ``file`` is not given."""
    name = SegmentName.parse(file := file or segments(disk)[-1])
    assert name is not None
    items = SegmentScan(name, disk.read(file), checksum_of(PREFERRED))
    return [item for item in items if isinstance(item, Found)]


def of_type(kind: RecordType, disk: SimulatedDisk, file: str | None = None) -> list[Found]:
    """Those of :func:`records` that have the type ``kind``."""
    return [found for found in records(disk, file) if found.payload[0] == kind]


def sequences(disk: SimulatedDisk, queue_id: int = 7) -> list[int]:
    """Sequences of the messages that a start would find in a queue."""
    levels = recover(disk).queues.get(queue_id, {})
    return [
        sequence
        for index in levels.values()
        for columns in index.live_columns(queue_id, 0, 1 << 62)
        for sequence in columns.sequences
    ]


def filled(log: Log, disk: SimulatedDisk, queues: LoneQueues) -> None:
    """Fill the segment in use: publish to queue 9 and ack until another segment begins, then write
    and delete what is due."""
    files = set(segments(disk))
    while set(segments(disk)) <= files:
        queues.publish(300, (9,))
        queues.ack(9)
        pump(log, disk)
    settle_down(log, disk, rewriting=False)
