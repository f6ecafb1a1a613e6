"""Deadlines: order, granularity, cancellation, and what a callback may do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.deadlines import GRANULARITY_MS, MAX_CANCELLED_DEADLINES, Deadlines
from reference_broker.core.work.budget import Budget


def test_what_is_due_runs_in_order_of_bucket_then_insertion() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.at(500, lambda: ran.append("late"))
    deadlines.at(104, lambda: ran.append("a"))
    deadlines.at(101, lambda: ran.append("b"))
    deadlines.at(90, lambda: ran.append("first"))
    assert deadlines.next_ms() == 90
    deadlines.fire(110, Budget())
    assert ran == ["first", "a", "b"]
    assert deadlines.next_ms() == 500
    assert len(deadlines) == 1


@given(when=st.integers(1, 10_000), step=st.integers(1, 50))
def test_never_early_and_at_most_one_bucket_late(when: int, step: int) -> None:
    deadlines, ran = Deadlines(), list[int]()
    now = 0
    deadlines.at(when, lambda: ran.append(now))
    while not ran:
        now += step
        deadlines.fire(now, Budget())
    assert when <= ran[0] < when + GRANULARITY_MS + step


def test_nothing_is_due_on_an_empty_index() -> None:
    deadlines = Deadlines()
    assert deadlines.next_ms() is None
    deadlines.fire(10**12, Budget())


def test_a_cancelled_deadline_does_not_run() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadline = deadlines.at(10, lambda: ran.append("no"))
    deadline.cancel()
    deadline.cancel()
    assert not deadline.pending
    assert len(deadlines) == 0
    deadlines.fire(100, Budget())
    assert ran == []
    assert deadlines.next_ms() is None


def test_a_callback_may_cancel_one_that_is_due_with_it() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.at(10, lambda: second.cancel())
    second = deadlines.at(10, lambda: ran.append("no"))
    deadlines.fire(10, Budget())
    assert ran == []
    assert len(deadlines) == 0


def test_a_callback_that_is_due_again_at_once_waits_for_the_next_call() -> None:
    deadlines, ran = Deadlines(), list[str]()

    def again() -> None:
        ran.append("ran")
        deadlines.at(10, again)

    deadlines.at(10, again)
    deadlines.fire(10, Budget())
    assert ran == ["ran"]
    deadlines.fire(10, Budget())
    assert ran == ["ran", "ran"]


def test_cancelled_deadlines_do_not_pile_up() -> None:
    deadlines, ran = Deadlines(), list[int]()
    kept = deadlines.at(10**9, lambda: ran.append(1))
    for number in range(20 * MAX_CANCELLED_DEADLINES):
        deadlines.at(10**10 + number * GRANULARITY_MS, lambda: ran.append(2)).cancel()
        assert len(deadlines._numbers) <= MAX_CANCELLED_DEADLINES + 2
    assert kept.pending
    assert len(deadlines) == 1
    deadlines.fire(10**11, Budget())
    assert ran == [1]


def test_what_the_budget_is_too_small_for_runs_in_later_calls_in_order() -> None:
    deadlines, ran, budget = Deadlines(), list[int](), Budget(4)
    for number in range(10):
        deadlines.at(10 * (10 - number // 3), lambda number=number: ran.append(number))  # type: ignore[misc]
    turns = 1
    while not deadlines.fire(1_000, budget):
        assert len(ran) == 4 * turns
        assert len(deadlines) == 10 - len(ran)
        budget.refill()
        turns += 1
    assert ran == [9, 6, 7, 8, 3, 4, 5, 0, 1, 2]
    assert turns == 3
    assert deadlines.memory_bytes == 0


def test_a_callback_that_spends_the_budget_is_the_last_one_of_its_turn() -> None:
    deadlines, ran, budget = Deadlines(), list[str](), Budget(100)

    def spend() -> None:
        ran.append("first")
        budget.left -= 1_000

    deadlines.at(10, spend)
    deadlines.at(10, lambda: ran.append("second"))
    assert not deadlines.fire(10, budget)
    assert ran == ["first"]
    budget.refill()
    assert deadlines.fire(10, budget)
    assert ran == ["first", "second"]


def test_what_waits_for_its_turn_can_be_cancelled() -> None:
    deadlines, ran, budget = Deadlines(), list[int](), Budget(1)
    many = [
        deadlines.at(10, lambda number=number: ran.append(number))  # type: ignore[misc]
        for number in range(4 * MAX_CANCELLED_DEADLINES)
    ]
    later = deadlines.at(500, lambda: ran.append(-1))
    assert not deadlines.fire(10, budget)
    for deadline in many[2:]:
        deadline.cancel()
    assert len(deadlines) == 2
    budget.left = 10**6
    assert deadlines.fire(10, budget)
    assert ran == [0, 1]
    assert (len(deadlines), later.pending) == (1, True)


def test_what_is_due_in_the_past_of_what_waits_goes_behind_it() -> None:
    deadlines, ran, budget = Deadlines(), list[str](), Budget(1)
    deadlines.at(10, lambda: ran.append("first"))
    deadlines.at(10, lambda: ran.append("second"))
    assert not deadlines.fire(10, budget)
    deadlines.at(0, lambda: ran.append("third"))
    budget.left = 10
    assert deadlines.fire(10, budget)
    assert ran == ["first", "second", "third"]


def test_an_error_of_one_is_not_the_others() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.at(10, lambda: ran.append(str(1 // 0)))
    deadlines.at(10, lambda: ran.append("second"))
    with pytest.raises(ZeroDivisionError):
        deadlines.fire(10, Budget())
    assert deadlines.fire(10, Budget())
    assert ran == ["second"]
    assert len(deadlines) == 0


def test_a_callback_has_the_unit_that_it_costs() -> None:
    """One that does nothing without a unit, and comes again, came again for ever."""
    deadlines, budget = Deadlines(), Budget(1)
    had: list[int] = []
    deadlines.at(10, lambda: had.append(budget.left))
    deadlines.fire(10, budget)
    assert (had, budget.left) == ([1], 0)
