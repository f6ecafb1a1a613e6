"""barrier: nothing passes that a live node has not applied."""

from __future__ import annotations

from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.view import View


def _barrier() -> tuple[View, Barrier]:
    view = View()
    barrier = Barrier(view)
    view.listen(barrier.advance)
    return view, barrier


def test_alone_it_is_the_own_view() -> None:
    view, barrier = _barrier()
    view.reach(5)
    assert barrier.passed.value == 5


def test_the_slowest_says_how_far() -> None:
    view, barrier = _barrier()
    barrier.join("b")
    barrier.join("c")
    view.reach(9)
    assert barrier.passed.value == 0
    barrier.applied("b", 8)
    assert barrier.passed.value == 0
    barrier.applied("c", 6)
    assert barrier.passed.value == 6
    barrier.applied("c", 12)
    assert barrier.passed.value == 8
    assert barrier.awaited == {"b": 8, "c": 12}


def test_the_own_view_counts() -> None:
    view, barrier = _barrier()
    barrier.join("b")
    barrier.applied("b", 20)
    view.reach(7)
    assert barrier.passed.value == 7


def test_one_that_is_gone_is_not_waited_for() -> None:
    view, barrier = _barrier()
    barrier.join("b")
    view.reach(9)
    barrier.leave("b")
    assert barrier.passed.value == 9
    barrier.leave("b")


def test_one_that_comes_later_has_seen_what_was_passed() -> None:
    view, barrier = _barrier()
    view.reach(9)
    barrier.join("b")
    assert barrier.passed.value == 9
    view.reach(10)
    assert barrier.passed.value == 9
    barrier.applied("b", 10)
    assert barrier.passed.value == 10


def test_one_that_is_not_live_and_one_that_repeats_itself_say_nothing() -> None:
    view, barrier = _barrier()
    barrier.join("b")
    barrier.applied("x", 50)
    barrier.applied("b", 5)
    barrier.applied("b", 3)
    view.reach(9)
    assert barrier.awaited == {"b": 5}
    barrier.join("b")
    assert barrier.awaited == {"b": 5}
