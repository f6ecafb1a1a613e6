"""The right to declare: one has it in several virtual hosts; others wait, and are told in
portions."""

from __future__ import annotations

from functools import partial

import pytest

from reference_broker.core.work.budget import METHOD_UNITS, Budget
from reference_broker.core.work.locks import Locks
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.until import NotYet


def locks_of(budget: Budget) -> tuple[Locks, Portions]:
    work = Portions(budget)
    return Locks(work, budget), work


def test_everybody_else_waits_and_the_holder_does_not() -> None:
    locks, _ = locks_of(Budget())
    lock = locks.take(["a", "b", "a"])
    for name in "ab":
        with pytest.raises(NotYet) as told:
            locks.require_free(name)
        assert told.value.until is lock.released
    locks.require_free("c")
    with locks.holder_works():
        locks.require_free("a")
    with pytest.raises(NotYet):
        locks.require_free("a")

    locks.release(lock)
    locks.release(lock)
    locks.require_free("a")
    locks.require_free("b")


def test_who_can_not_have_all_has_none() -> None:
    locks, _ = locks_of(Budget())
    lock = locks.take(["b"])
    with pytest.raises(NotYet) as told:
        locks.take(["a", "b"])
    assert told.value.until is lock.released
    locks.require_free("a")

    locks.release(lock)
    later = locks.take(["a", "b"])
    locks.release(lock)  # of an earlier one
    with pytest.raises(NotYet):
        locks.require_free("b")
    locks.release(later)


def test_a_mistake_of_the_holder_does_not_let_others_through() -> None:
    locks, _ = locks_of(Budget())
    locks.take(["a"])
    with pytest.raises(ZeroDivisionError), locks.holder_works():
        raise ZeroDivisionError
    with pytest.raises(NotYet):
        locks.require_free("a")


def test_those_who_waited_are_told_in_order_some_in_each_turn() -> None:
    budget = Budget(10 * METHOD_UNITS)
    locks, work = locks_of(budget)
    lock = locks.take(["a"])
    told: list[int] = []
    for number in range(35):
        lock.released.then(partial(told.append, number))

    locks.release(lock)
    counts = [len(told)]
    while work:
        budget.refill()
        work.run()
        counts.append(len(told))

    assert counts == [10, 20, 30, 35]
    assert told == list(range(35))


def test_a_lock_of_nothing_keeps_nothing_back() -> None:
    locks, work = locks_of(Budget())
    lock = locks.take([])
    locks.require_free("a")
    locks.release(lock)
    assert not work
