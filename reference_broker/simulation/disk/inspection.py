"""Reading inside the broker and its log, for the simulator: nobody else here knows how they keep
it.

Everything else here looks at the broker from outside. A change of a queue's insides is a change of
this module; the files of the log are for :mod:`reference_broker.simulation.disk.autopsy`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reference_broker.core.broker import DEFAULT_VHOST, Broker
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.journal.journal import EntryColumns, EntrySource, Fetched
from reference_broker.core.message.content import Content
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.simulation.disk.bookkeeping import all_queues
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events.events import Copy, Indexed, Losses, Start
from reference_broker.simulation.events.marking import marks_of
from reference_broker.simulation.events.standings import QueueStanding
from reference_broker.store import Disk, Log, RecoveredLog
from reference_broker.store.doctor.queue_names import queue_names
from reference_broker.store.liveness.fetch_request import FetchRequest
from reference_broker.store.log.reading import perform, plan
from reference_broker.store.start.recovered import DamageReport
from reference_broker.store.start.recovery import recover

_EVERYWHERE = 1 << 62

Indexes = dict[str, list[Indexed]]
"""The logged messages of each queue, in order of sequence; by id and name, as names repeat."""

ReadySequences = Mapping[int, frozenset[int]]
"""The sequences of ready messages, by queue id."""


class Found(NamedTuple):
    """Messages that a start found, before anything came of it: those that expired meanwhile are
    still here."""

    copies: Mapping[int, Sequence[Copy]]
    """Messages by queue id, in order of sequence."""
    damage: DamageReport


class Head(NamedTuple):
    """The message of a queue that is next."""

    queue: str
    queue_id: int
    sequence: int


# The broker that runs


def queues_of(broker: Broker) -> list[Queue]:
    return list(broker.vhosts[DEFAULT_VHOST].queues.values())


def is_empty(broker: Broker) -> bool:
    """True when no message is ready, and none handed out."""
    return not any(queue.ready or queue.unacked for queue in queues_of(broker))


def is_synced(broker: Broker) -> bool:
    """True when everything that the broker has logged is on its disk."""
    return broker.journal.synced == broker.journal.tail


def ready_numbers(queue: Queue, log: Log, disk: Disk) -> list[int]:
    """Numbers of the ready messages, in order of sequence."""
    return [marks_of(content.header).number for content in ready_contents(queue, log, disk)]


def ready_contents(queue: Queue, log: Log, disk: Disk) -> list[Content]:
    """The ready messages, in order of sequence."""
    absent = array("Q")
    positions = array("q")
    for index in queue.indexes():
        for sequence, position, _ in index.ready_from(0):
            if sequence not in queue.contents:
                absent.append(sequence)
                positions.append(position)
    contents = queue.contents | _read(log, disk, queue.id, absent, positions)
    return [content for _, content in sorted(contents.items())]


def ready_of(broker: Broker) -> ReadySequences:
    """The ready messages of the queues of all virtual hosts."""
    return {
        queue.id: frozenset(
            sequence for index in queue.indexes() for sequence, *_ in index.ready_from(0)
        )
        for vhost in broker.vhosts.values()
        for queue in vhost.queues.values()
    }


def standings_of(
    vhost: VHost, ready: ReadySequences, long_before: ReadySequences
) -> dict[str, QueueStanding]:
    """The queues of a virtual host, by name, and what its delayed exchanges hold. ``ready`` is
    ready now, and ``long_before`` was."""
    standings = {
        queue.name: QueueStanding(
            queue.ready,
            len(queue.delayed),
            has_ttl=queue.limits.message_ttl_ms is not None,
            long_ready=len(ready[queue.id] & long_before.get(queue.id, frozenset())),
        )
        for queue in vhost.queues.values()
    }
    for exchange in vhost.exchanges.values():
        if exchange.delays is not None:
            held = exchange.delays
            standings[held.name] = QueueStanding(0, held.ready + held.unacked, has_ttl=False)
    return standings


def overdue_of(broker: Broker, wall_ms: int) -> dict[str, int]:
    """The milliseconds for which something that waits for a time, whatever its place, has waited
    longer, by queue: what a delayed exchange holds, what came back with a delay."""
    overdue: dict[str, int] = {}
    for vhost in broker.vhosts.values():
        held = [each.delays for each in vhost.exchanges.values() if each.delays is not None]
        for queue in (*vhost.queues.values(), *held):
            due_ms = [due for due, _ in queue.delayed._heap]
            if queue in held:
                due_ms = [
                    queue.index.expires_at(sequence) for sequence, _, _ in queue.index.ready_from(0)
                ]
            first_ms = min((due for due in due_ms if due), default=wall_ms)
            if first_ms < wall_ms:
                overdue[queue.name] = wall_ms - first_ms
    return overdue


def overdue_heads_of(broker: Broker, wall_ms: int) -> dict[Head, int]:
    """The milliseconds for which the heads of queues have been expired. A message behind another
    one, or on a lower level, expires when it is the head: it may be that since a moment ago, and
    have been due for long."""
    overdue: dict[Head, int] = {}
    for vhost in broker.vhosts.values():
        for queue in vhost.queues.values():
            index = queue.head_index()
            sequence = None if index is None else index.head_sequence()
            due_ms = 0 if index is None else index.head_expires_at()
            if sequence is not None and due_ms and due_ms < wall_ms:
                overdue[Head(queue.name, queue.id, sequence)] = wall_ms - due_ms
    return overdue


def losses_of(broker: Broker) -> Losses:
    """Messages that the queues say they have removed by themselves, or for an operator; or lost."""
    return {
        queue.name: Counter(
            expired=queue.expired, maxlen=queue.dropped, purged=queue.purged, damaged=queue.lost
        )
        for queue in queues_of(broker)
    }


def reads_met(broker: Broker, answers: Sequence[Fetched]) -> Counter[str]:
    """Counts of what clients did while messages were read from the disk, before the broker learns
    of the ``answers``."""
    counts: Counter[str] = Counter()
    for answer in answers:
        queue = broker.queues_by_id.get(answer.queue_id)
        if queue is None:
            counts["reads for a queue that was deleted"] += 1
        else:
            states = [queue.index_of(each).state_of(each) for each, _ in answer.contents]
            counts["reads of messages that are gone"] += EntryState.GONE in states
            counts["reads that a basic.get waits for"] += bool(queue.backlog._waiters)
    return counts


# Its index, and what is on its disk


def index_of(broker: Broker) -> Indexes:
    """The indexes of the broker's queues: those of all virtual hosts, and inner ones."""
    return _index(broker, broker)


def rebuilt(disk: SimulatedDisk, *, trust_footers: bool) -> RecoveredLog:
    """The recovery of a new broker from its disk, if the power failed now."""
    return recover(disk.copy(), trust_footers=trust_footers)


def rebuilt_index(broker: Broker, recovered: RecoveredLog) -> Indexes:
    """The logged messages of :func:`rebuilt` in the broker's queues. Entries of deleted queues may
    still be in the log; nobody will see them."""
    return _index(broker, recovered)


def _index(broker: Broker, source: EntrySource) -> Indexes:
    index: Indexes = {}
    for queue in all_queues(broker):
        entries: list[Indexed] = []
        for columns in source.live_entries(queue.id, 0, _EVERYWHERE):
            count = len(columns.sequences)
            expiries = (
                array("q", bytes(8 * count)) if columns.expiries is None else columns.expiries
            )
            entries += map(
                Indexed,
                columns.sequences,
                columns.positions,
                columns.sizes,
                columns.stored,
                expiries,
            )
        if entries:
            index[f"{queue.id} {queue.name}"] = sorted(entries)
    return index


# What a start finds


def found_in(log: Log, recovered: RecoveredLog, disk: SimulatedDisk) -> Found:
    """The messages of the clients' queues, which are those of the default virtual host. Call it
    before ``recovered`` is used up."""
    names = queue_names(recovered.definitions)
    theirs = [
        each for each in recovered.queues if each in names and names[each].vhost == DEFAULT_VHOST
    ]
    return Found(copies_of(log, recovered, theirs, disk), recovered.damage)


def copies_of(
    log: Log,
    source: EntrySource,
    queue_ids: Sequence[int],
    disk: SimulatedDisk,
) -> dict[int, list[Copy]]:
    """The logged messages of each queue, in order of sequence. A message whose record is damaged,
    which nobody may have noticed yet, is among them."""
    readable = disk.copy(healed=True) if disk.rotten else disk
    copies: dict[int, list[Copy]] = {}
    for queue_id in queue_ids:
        pieces = source.live_entries(queue_id, 0, _EVERYWHERE)
        contents = _read(log, readable, queue_id, *_places(pieces))
        copies[queue_id] = [_copy(content) for _, content in sorted(contents.items())]
    return copies


def start_of(broker: Broker, found: Found, stamp: int, wall_ms: int) -> Start:
    """The start of a broker, as those outside see it."""
    names = {queue.id: queue.name for queue in queues_of(broker)}
    lost = found.damage.lost
    return Start(
        {names[each]: copies for each, copies in found.copies.items() if each in names},
        stamp,
        wall_ms,
        damaged=found.damage.damaged,
        lost=Counter({names[each]: count for each, count in lost.items() if each in names}),
        orphans=sum(count for each, count in lost.items() if each not in names),
    )


def _places(pieces: Iterable[EntryColumns]) -> tuple[array[int], array[int]]:
    sequences, positions = array("Q"), array("q")
    for columns in pieces:
        sequences.extend(columns.sequences)
        positions += columns.positions
    return sequences, positions


def _read(
    log: Log, disk: Disk, queue_id: int, sequences: array[int], positions: array[int]
) -> dict[int, Content]:
    outcome = perform(disk, plan(FetchRequest(queue_id, sequences, positions), log))
    return {
        sequence: content for sequence, content in outcome.fetched.contents if content is not None
    }


def _copy(content: Content) -> Copy:
    marks = marks_of(content.header)
    return Copy(marks.number, marks.history)
