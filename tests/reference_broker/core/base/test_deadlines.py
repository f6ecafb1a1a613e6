"""Deadlines: order, granularity, cancellation, and what a callback may do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.deadlines import GRANULARITY_MS, MAX_CANCELLED_DEADLINES, Deadlines


def test_what_is_due_runs_in_order_of_bucket_then_insertion() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.at(500, lambda: ran.append("late"))
    deadlines.at(104, lambda: ran.append("a"))
    deadlines.at(101, lambda: ran.append("b"))
    deadlines.at(90, lambda: ran.append("first"))
    assert deadlines.next_ms() == 90
    deadlines.fire(110)
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
        deadlines.fire(now)
    assert when <= ran[0] < when + GRANULARITY_MS + step


def test_nothing_is_due_on_an_empty_index() -> None:
    deadlines = Deadlines()
    assert deadlines.next_ms() is None
    deadlines.fire(10**12)


def test_a_cancelled_deadline_does_not_run() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadline = deadlines.at(10, lambda: ran.append("no"))
    deadline.cancel()
    deadline.cancel()
    assert not deadline.pending
    assert len(deadlines) == 0
    deadlines.fire(100)
    assert ran == []
    assert deadlines.next_ms() is None


def test_a_callback_may_cancel_one_that_is_due_with_it() -> None:
    deadlines, ran = Deadlines(), list[str]()
    deadlines.at(10, lambda: second.cancel())
    second = deadlines.at(10, lambda: ran.append("no"))
    deadlines.fire(10)
    assert ran == []
    assert len(deadlines) == 0


def test_a_callback_that_is_due_again_at_once_waits_for_the_next_call() -> None:
    deadlines, ran = Deadlines(), list[str]()

    def again() -> None:
        ran.append("ran")
        deadlines.at(10, again)

    deadlines.at(10, again)
    deadlines.fire(10)
    assert ran == ["ran"]
    deadlines.fire(10)
    assert ran == ["ran", "ran"]


def test_cancelled_deadlines_do_not_pile_up() -> None:
    deadlines, ran = Deadlines(), list[int]()
    kept = deadlines.at(10**9, lambda: ran.append(1))
    for number in range(20 * MAX_CANCELLED_DEADLINES):
        deadlines.at(10**10 + number * GRANULARITY_MS, lambda: ran.append(2)).cancel()
        assert len(deadlines._numbers) <= MAX_CANCELLED_DEADLINES + 2
    assert kept.pending
    assert len(deadlines) == 1
    deadlines.fire(10**11)
    assert ran == [1]
