"""settling: leases end in portions, and a queue hands nothing out before all of them are back."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import BasicConsume, QueueDeclare
from reference_broker.cluster.queues.settling import put_all_back, settle
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.ports import Settlement
from reference_broker.core.work.task import Steps
from reference_broker.testing.homes.noting_taker import message
from reference_broker.testing.lone_broker import LoneBroker

UNITS = 100


class SettledHolder:
    """The holder of leases that count against no prefetch."""

    def settled(self, count: int = 1) -> None:
        """Nothing has to be counted."""


def _taken(count: int, lone: LoneBroker, name: str = "q") -> tuple[Queue, list[Lease]]:
    client = lone.client()
    client.send(1, QueueDeclare(name))
    for _ in range(count):
        client.publish(name, b"x")
    queue = lone.broker.vhosts["/"].queues[name]
    holder = SettledHolder()
    leases = [queue.get(holder) for _ in range(count)]
    return queue, [lease for lease in leases if lease is not None]


def _turns(steps: Steps, lone: LoneBroker) -> int:
    """Take the steps to their end; how many turns that was."""
    budget = lone.broker.budget
    turns = 1
    budget.units = budget.paced = UNITS
    budget.refill()
    for until in steps:
        assert until is None
        turns += 1
        assert budget.left > -300
        budget.refill()
    return turns


@pytest.mark.parametrize("how", list(Settlement))
def test_all_of_them_end_in_their_way(how: Settlement) -> None:
    lone = LoneBroker()
    queue, leases = _taken(1_000, lone)
    assert _turns(settle(leases, how), lone) >= 4
    assert queue.unacked == 0
    back = how not in (Settlement.ACK, Settlement.REJECT)
    assert queue.ready == 1_000 * back
    assert queue.returning == 0
    again = queue.get(None)
    assert (again is None) is not back
    if again is not None:
        assert again.redelivered is (how is not Settlement.UNSEEN)
        assert again.content.body == message(b"x").body


def test_nothing_is_handed_out_before_all_are_back() -> None:
    lone = LoneBroker()
    queue, leases = _taken(1_000, lone)
    other, others = _taken(10, lone, "other")
    client = lone.client()
    client.send(1, BasicConsume("q"))
    steps = put_all_back([leases, others])
    lone.broker.budget.units = lone.broker.budget.paced = UNITS
    for _ in steps:
        assert (queue.dispatch(), queue.unacked + queue.ready) == (True, 1_000)
        assert queue.delivered == 0
        lone.broker.budget.refill()
    assert (queue.returning, other.returning, other.ready) == (0, 0, 10)


def test_nothing_is_no_step() -> None:
    assert list(settle([], Settlement.ACK)) == []
    assert list(put_all_back([])) == []
