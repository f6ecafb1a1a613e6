"""held_leases: an origin's leases are found by their numbers, and end once."""

from __future__ import annotations

from reference_broker.cluster.queues.held_leases import HeldLeases
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.homes.noting_taker import message
from reference_broker.testing.lone_queue import QueueHost


def _lease(queue: Queue, number: int) -> Lease:
    return Lease(queue, number, message(), False, number, None)


def test_leases_are_taken_in_the_order_that_was_asked_and_the_others_counted() -> None:
    queue = QueueHost().declare("q")
    held = HeldLeases()
    leases = {number: _lease(queue, number) for number in (1, 2, 3)}
    for lease in leases.values():
        held.add(lease)
    assert len(held) == 3
    assert held.take(queue.id, (3, 1, 7, 3)) == ([leases[3], leases[1]], 2)
    assert held.take(queue.id + 1, (2,)) == ([], 1)
    assert held.take_all() == [[leases[2]]]
    assert held.take_all() == []
    assert len(held) == 0
    assert held.take(queue.id, (2,)) == ([], 1)


def test_they_are_counted_however_they_come_and_go() -> None:
    queue = QueueHost().declare("q")
    held = HeldLeases()
    run = [_lease(queue, number) for number in (5, 6, 7)]
    held.add_run(run)
    held.add(_lease(queue, 8))
    held.add_run([])
    assert len(held) == 4
    assert held.take(queue.id, (7, 9, 6)) == ([run[2], run[1]], 1)
    assert len(held) == 2
    held.forget(queue)
    assert len(held) == 0


def test_those_of_a_queue_can_be_forgotten() -> None:
    queue = QueueHost().declare("q")
    held = HeldLeases()
    held.add(_lease(queue, 1))
    held.forget(queue)
    held.forget(queue)
    assert len(held) == 0
