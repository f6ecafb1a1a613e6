"""From what the log had to a broker that has it: definitions, then messages, then their timers."""

from __future__ import annotations

from typing import NamedTuple

from reference_broker.core.broker import Broker
from reference_broker.store.recovered import RecoveredLog


class Restored(NamedTuple):
    """What a start brought back. ``orphans`` are entries of queues that were deleted."""

    queues: int
    messages: int
    orphans: int


def restore(broker: Broker, recovered: RecoveredLog) -> Restored:
    """Rebuild definitions and messages in ``broker``, which must be empty. Call it once, before
    the broker's first input and after its clock was set."""
    broker.restore(recovered.definitions)
    queues = {
        queue.id: queue for vhost in broker.vhosts.values() for queue in vhost.queues.values()
    }
    orphans = recovered.retain(queues)
    messages = 0
    for queue_id, entries in recovered.entries.items():
        queue = queues[queue_id]
        for entry in entries:
            queue.restore(
                entry.sequence,
                entry.content,
                entry.redelivered,
                entry.expires_at_ms,
                entry.priority,
            )
        messages += len(entries)
        # What expired while the broker was down has to go, and what will expire needs a timer.
        queue.env.mark_dirty(queue)
    broker.finish()
    return Restored(len(queues), messages, orphans)
