"""Those who wait by a clock that a test moves."""

from __future__ import annotations

import asyncio

from mqkit.testing.virtual_time.alarms import Alarm, Alarms


def alarm(at_us: int, rung: list[int], *, works: bool = False, foreign: bool = False) -> Alarm:
    return Alarm(
        at_us, lambda: rung.append(at_us), loop=None, task=None, works=works, foreign=foreign
    )


def test_they_ring_in_order_once() -> None:
    alarms, rung = Alarms(), list[int]()
    for at_us in (30, 10, 20, 40):
        alarms.add(alarm(at_us, rung))
    assert alarms.next_us() == 10
    assert [each.at_us for each in alarms.ring(30)] == [10, 20, 30]
    assert rung == [10, 20, 30]
    alarms.ring(None)
    assert rung == [10, 20, 30, 40]
    assert alarms.next_us() is None


def test_one_that_is_forgotten_does_not_ring() -> None:
    alarms, rung = Alarms(), list[int]()
    one = alarm(10, rung)
    alarms.add(one)
    alarms.forget(one)
    alarms.forget(one)
    assert alarms.ring(None) == []


def test_an_event_loop_that_is_closed_is_passed_over() -> None:
    alarms, rung = Alarms(), list[int]()
    loop = asyncio.new_event_loop()
    one = alarm(10, rung)
    one.loop = loop
    loop.close()
    alarms.add(one)
    alarms.ring(None)
    assert rung == []


def test_who_waits_and_who_works() -> None:
    alarms, rung = Alarms(), list[int]()
    alarms.add(alarm(1, rung, works=True, foreign=True))
    alarms.add(alarm(2, rung, foreign=True))
    alarms.add(alarm(3, rung))
    assert alarms.foreign_waits == 1
    assert alarms.waiting_tasks() == set()
