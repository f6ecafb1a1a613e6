"""mqkit.transport.waiters: places to wait in, and the change that ends the waiting."""

from __future__ import annotations

from mqkit.transport.waiters import Waiters


def test_a_change_frees_all_who_wait_and_nobody_who_comes_later() -> None:
    waiters = Waiters()
    first, second = waiters.place(), waiters.place()
    assert not waiters.is_empty
    waiters.wake()
    assert waiters.is_empty
    third = waiters.place()
    free = [place.acquire(blocking=False) for place in (first, second, third)]
    assert free == [True, True, False]


def test_who_leaves_is_not_waited_for_any_more() -> None:
    waiters = Waiters()
    place = waiters.place()
    waiters.leave(place)
    waiters.leave(place)
    assert waiters.is_empty
    waiters.wake()
    assert not place.acquire(blocking=False)
