"""The remains of work with messages: none at the end, and none of a link that is down once a
process has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.cluster.queues.attached_consumer import AttachedConsumer
from reference_broker.cluster.queues.origin_session import OriginSession
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.simulation.cluster.laws import LawBroken

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.simulation.cluster.process import NodeProcess


def hold_no_ghosts(process: NodeProcess) -> int:
    """No queue has a consumer or a lease of a link that is down. Looks at a process that has
    nothing left to do; returns how many queues it has looked at."""
    broker = process.broker.broker
    if broker.has_work:
        return 0
    sessions = _sessions(process)
    held = {
        (queue_id, number)
        for session in sessions
        for queue_id, leases in session.leases._by_queue.items()
        for number in leases
    }
    looked_at = 0
    for queue in broker.queues_by_id.values():
        if isinstance(queue, RemoteQueue) or not queue.durable:
            continue
        looked_at += 1
        for consumer in queue.consumers:
            if isinstance(consumer, AttachedConsumer) and consumer._session not in sessions:
                raise LawBroken(
                    f"{process.name} has a consumer of {queue.name} by a link that is down"
                )
        for lease in queue.leases.values():
            is_remote = isinstance(lease.holder, AttachedConsumer | OriginSession)
            if is_remote and (queue.id, lease.number) not in held:
                raise LawBroken(
                    f"{process.name} has lease {lease.number} of {queue.name} for nobody"
                )
    return looked_at


def hold_nothing_left(process: NodeProcess) -> None:
    """Nothing waits anywhere, and every queue is empty."""
    broker = process.broker.broker
    if broker.has_work:
        raise LawBroken(f"{process.name} has work left over")
    for queue in broker.queues_by_id.values():
        left = _left_in(queue)
        if left:
            raise LawBroken(f"{process.name} has {left} in {queue.name} at the end")
    for name, link in process.mesh.links.items():
        if link.held_bytes:
            raise LawBroken(
                f"the link of {process.name} with {name} holds {link.held_bytes} octets"
            )
        home = process.broker.queue_links.home(name)
        publishes = home.publishes
        waiting = (
            *home._takers,
            *home._grants,
            *home._open,
            *home._unasked,
            *publishes._untold,
            *publishes._verdicts,
        )
        if waiting or publishes.confirmed.value != publishes.last:
            raise LawBroken(f"{process.name} waits for {name}: {waiting}")
    for session in _sessions(process):
        remains = len(session.leases), len(session._consumers), session._questions
        if any(remains) or session.output.waiting:
            raise LawBroken(f"{process.name} has leases, consumers, questions: {remains}")


def _left_in(queue: Queue) -> str:
    counts = {
        "ready": 0 if isinstance(queue, RemoteQueue) else queue.ready,
        "unacked": len(queue.leases),
        "consumers": len(queue.consumers),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _sessions(process: NodeProcess) -> list[OriginSession]:
    return [peer.session for peer in process.broker.queue_links._peers.values()]
