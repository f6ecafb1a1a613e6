"""Restoring a broker from a recovered log: definitions, then messages, then the message ids that
exchanges and queues have seen, and only then the timers: an overdue message may go to a queue that
has seen it before.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from reference_broker.core.broker import Broker
from reference_broker.core.journal.definition_keys import COUNT, COUNTS, DELAYS
from reference_broker.core.queue.delayed_returns import restore_delays
from reference_broker.core.queue.delivery_counts import restore_counts
from reference_broker.core.queue.queue import Queue
from reference_broker.store.disk.ports import Disk
from reference_broker.store.log.log import Log
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.start.recovered import RecoveredLog


class Restored(NamedTuple):
    """The counts of a start. ``orphans`` are entries of queues that were deleted."""

    queues: int
    messages: int
    orphans: int


def restore(broker: Broker, recovered: RecoveredLog) -> Restored:
    """Rebuild definitions and messages in ``broker``, which must be empty. Call it once, before
    the broker's first input and after its clock was set: the indexes are the broker's then, and
    time does nothing to them before :func:`resume`, which comes next."""
    broker.restore(recovered.definitions)
    return _hand_over(broker.queues_by_id, recovered)


def restore_node(broker: Broker, recovered: RecoveredLog, queue_ids: Container[int]) -> Restored:
    """The same for a node of a cluster, whose ``broker`` has been handed
    :meth:`~reference_broker.core.broker.Broker.restore_own` before, and then everything that the
    nodes have agreed on. The queues of ``queue_ids`` are here, and so are all inner ones: messages
    of others are dropped."""
    journal = broker.journal
    named = {queue.id for vhost in broker.vhosts.values() for queue in vhost.queues.values()}
    queues = {
        id: queue for id, queue in broker.queues_by_id.items() if id in queue_ids or id not in named
    }
    for key in broker.take_unowned():
        journal.define(key, None)
    for vhost_name in _vhosts_with_counts(recovered.definitions):
        restore_counts(recovered.definitions, vhost_name, queues, journal)
        restore_delays(recovered.definitions, vhost_name, queues, journal)
    return _hand_over(queues, recovered)


def _vhosts_with_counts(definitions: Mapping[str, bytes]) -> list[str]:
    """The virtual hosts whose queues have counts or delays in the log; some may be gone."""
    parts = (key.split("/") for key in definitions)
    return list(dict.fromkeys(unquote(it[1]) for it in parts if it[0] in (COUNTS, COUNT, DELAYS)))


def _hand_over(queues: Mapping[int, Queue], recovered: RecoveredLog) -> Restored:
    """Give the queues their messages; the others are of queues that are gone."""
    orphans = recovered.retain(queues)
    messages = 0
    for queue_id, indexes in recovered.queues.items():
        queue = queues[queue_id]
        messages += sum(index.ready for index in indexes.values())
        queue.restore(indexes)
    for queue_id, lost in recovered.damage.lost.items():
        if queue_id in queues:
            queues[queue_id].backlog.note_lost(lost)
    recovered.queues.clear()
    for queue in queues.values():
        if queue.delivery_counts is not None:  # their messages may have gone since
            queue.delivery_counts.sweep()
            queue.delivery_counts.write()
        queue.delayed.restored()
    return Restored(len(queues), messages, orphans)


def resume(broker: Broker, log: Log, disk: Disk) -> None:
    """Have exchanges and queues know again what they have seen, and then let time go on: what
    expired or was due while the broker was down leaves. Call it once, after :func:`restore` and
    before the first client. Raises ``OSError`` as the disk gives it."""
    vhosts = broker.vhosts.values()
    for vhost in vhosts:
        for window in vhost.windows():
            vhost.mark_dirty(window.queue)
    broker.finish()
    while any(vhost.loading for vhost in vhosts) and (jobs := take_reads(log)):
        answers = [perform(disk, job).fetched for job in jobs]
        broker.fetched(answers, broker.moment.mono_s, broker.moment.wall_ms)
    _go_on(broker)


def _go_on(broker: Broker) -> None:
    for queue in list(broker.queues_by_id.values()):
        # What expired while the broker was down has to go, and what will expire needs a timer.
        # A policy may have been stored in the instant before, and what it cut off not.
        queue.came_back()
    broker.finish()
