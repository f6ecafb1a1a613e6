"""When everything is settled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mqkit.testing.virtual_time.alarms import Alarm, Alarms
from mqkit.testing.virtual_time.ports import Held, Look
from mqkit.testing.virtual_time.settling import TOLD_MAX, NotSettled, Settling


def held(number: int) -> Held:
    return Held((1, 1, number), "c", f"message {number}")


class Broker:
    """A broker of which each look is written down; the last one is for all that follow."""

    def __init__(self, *looks: Look) -> None:
        self.looks = list(looks)

    def stop_clock(self) -> int:
        return 0

    def run_clock(self) -> None: ...

    def next_ms(self) -> int | None:
        return None

    def move_to(self, time_ms: int) -> None: ...

    def look(self) -> Look:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def test_a_message_is_waited_for_and_what_comes_of_it() -> None:
    busy = Look(True, 1, (held(1),))
    broker = Broker(busy, busy, Look(True, 2, ()), Look(True, 3, ()), Look(True, 4, ()))
    Settling(broker, Alarms()).settle(10.0)
    assert len(broker.looks) == 1


@pytest.mark.parametrize(
    ("look", "told"),
    [
        (Look(True, 0, (held(1), held(2))), "^message 1; message 2$"),
        (Look(False, 0, (), "shop"), "^shop does not read what the broker sends$"),
        (Look(False, 0, ()), "goes on and on"),
    ],
)
def test_the_reason_is_told(look: Look, told: str) -> None:
    with pytest.raises(NotSettled, match=told):
        Settling(Broker(look), Alarms()).settle(0.0)


def test_many_reasons_are_counted() -> None:
    look = Look(True, 0, tuple(map(held, range(TOLD_MAX + 5))))
    with pytest.raises(NotSettled, match=r"message 9; 5 more$"):
        Settling(Broker(look), Alarms()).settle(0.0)


def test_who_waits_in_the_clock_has_a_message_in_hand() -> None:
    alarms = Alarms()
    settling = Settling(Broker(Look(True, 0, (held(1), held(2)))), alarms)
    alarms.add(Alarm(1, int, loop=None, task=None, works=False, foreign=True))
    with pytest.raises(NotSettled, match=r"^message 1$"):
        settling.settle(0.0)
    alarms.add(Alarm(1, int, loop=None, task=None, works=False, foreign=True))
    settling.settle(0.0)


def test_an_event_loop_that_does_not_turn_is_told() -> None:
    go_on, blocked = threading.Event(), threading.Event()
    loop = asyncio.new_event_loop()

    def block() -> None:
        blocked.set()
        go_on.wait(10)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    loop.call_soon_threadsafe(block)
    blocked.wait(10)
    settling = Settling(Broker(Look(True, 0, ())), Alarms())
    settling.watch(loop)
    try:
        with pytest.raises(NotSettled, match="does not turn: something blocks it"):
            settling.settle(0.0)
    finally:
        go_on.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
    settling.settle(10.0)  # a loop that does not run is nobody's
    loop.close()
    settling.settle(10.0)
