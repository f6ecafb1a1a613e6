"""The settlement of leases that an origin held, in portions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.cluster.queues.catalogue import vhost_of
from reference_broker.core.channel.settlement import put_back, reject_each
from reference_broker.core.queue.returns import put_back_unseen
from reference_broker.core.queue.runs import ack_leases
from reference_broker.core.remote.ports import Settlement

if TYPE_CHECKING:
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps


def settle(leases: list[Lease], how: Settlement) -> Steps:
    """The steps of ending ``leases``, all of one queue, in their order."""
    if not leases:
        return
    if how is Settlement.ACK:
        yield from _ack(leases)
    elif how is Settlement.REJECT:
        yield from reject_each(vhost_of(leases[0].queue), leases)
    elif how is Settlement.UNSEEN:
        yield from _put_back_unseen(leases)
    else:
        yield from put_back(leases, failed=how is Settlement.REQUEUE_FAILED)


def put_all_back(lots: Sequence[list[Lease]]) -> Steps:
    """The steps of requeueing all that an origin held, by queue: its client, or the way to it, is
    gone. A queue hands nothing out before all of its own are back."""
    queues: list[Queue] = [lot[0].queue for lot in lots]
    for queue in queues:
        queue.begin_return()
    for lot in lots:
        yield from put_back(lot)
    for queue in queues:
        queue.end_return()


def _ack(leases: list[Lease]) -> Steps:
    queue = leases[0].queue
    budget, start = queue.env.budget, 0
    while start < len(leases):
        if budget.left <= 0:
            yield None
        portion = leases[start : start + max(1, budget.left)]
        ack_leases(queue, portion)
        start += len(portion)
        budget.left -= len(portion)


def _put_back_unseen(leases: list[Lease]) -> Steps:
    queue = leases[0].queue
    budget = queue.env.budget
    while queue.purging is not None:  # they were not ready when it was asked
        yield queue.purging
    queue.begin_return()
    for start in range(0, len(leases), _AT_ONCE):
        portion = leases[start : start + _AT_ONCE]
        put_back_unseen(queue, portion)
        budget.left -= len(portion)
        if budget.left <= 0:
            yield None
    queue.end_return()


_AT_ONCE = 256
