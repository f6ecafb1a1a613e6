"""Exclusive queues: each its owner's, and about to go once that has ended."""

from __future__ import annotations

import pytest

from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.work.budget import DECLARATION_UNITS
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_queue import QueueHost


class Rig:
    """The exclusive queues of two owners, and the names of those that were ``deleted``."""

    def __init__(self) -> None:
        self.host = QueueHost(units=2 * DECLARATION_UNITS)
        self.exclusive = ExclusiveQueues(self.host.budget)
        self.deleted: list[str] = []
        self.queues = [self.declare(f"q{number}", "ann") for number in range(5)]
        self.other = self.declare("other", "bob")

    def declare(self, name: str, owner: object | None) -> Queue:
        queue = self.host.declare(name)
        queue.owner = owner
        self.exclusive.add(queue)
        return queue

    def delete(self, queue: Queue) -> Steps:
        self.exclusive.remove(queue)
        self.deleted.append(queue.name)
        yield from ()


def test_those_of_an_owner_that_has_ended_go_some_in_each_turn() -> None:
    rig = Rig()
    steps = rig.exclusive.release("ann", rig.delete)
    counts = []
    for _ in steps:
        counts.append(len(rig.deleted))
        rig.host.budget.refill()

    assert counts == [2, 4]
    assert rig.deleted == ["q0", "q1", "q2", "q3", "q4"], "in order of declaration"
    assert len(rig.exclusive) == 1, "and the other owner has its own"


def test_who_names_one_of_them_waits_until_all_are_gone() -> None:
    rig = Rig()
    rig.exclusive.require_unended(rig.queues[4])
    steps = rig.exclusive.release("ann", rig.delete)
    with pytest.raises(NotYet) as wait:
        rig.exclusive.require_unended(rig.queues[4])
    rig.exclusive.require_unended(rig.other)
    told: list[int] = []
    wait.value.until.then(lambda: told.append(len(rig.deleted)))
    for _ in steps:
        assert told == []
        rig.host.budget.refill()

    assert told == [5]
    rig.exclusive.require_unended(rig.declare("q4", "ann"))


def test_who_waits_is_told_where_an_owner_ends_twice() -> None:
    rig = Rig()
    first = rig.exclusive.release("ann", rig.delete)
    next(first)
    with pytest.raises(NotYet) as wait:
        rig.exclusive.require_unended(rig.queues[4])
    told: list[int] = []
    wait.value.until.then(lambda: told.append(len(rig.deleted)))
    for steps in (rig.exclusive.release("ann", rig.delete), first):
        rig.host.budget.refill()
        for _ in steps:
            rig.host.budget.refill()

    assert told == [5]


def test_an_owner_without_queues_ends_at_once() -> None:
    rig = Rig()
    assert list(rig.exclusive.release("carl", rig.delete)) == []
    assert len(rig.exclusive) == 2


def test_a_queue_that_is_nobodys_is_left_alone() -> None:
    rig = Rig()
    shared = rig.declare("shared", None)
    rig.exclusive.require_unended(shared)
    rig.exclusive.remove(shared)
    assert len(rig.exclusive) == 2


def test_an_owner_whose_last_queue_is_deleted_is_forgotten() -> None:
    rig = Rig()
    rig.exclusive.remove(rig.other)
    assert len(rig.exclusive) == 1
