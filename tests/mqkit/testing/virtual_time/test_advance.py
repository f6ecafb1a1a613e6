"""From one moment at which something is due to the next, on a broker that is written down."""

from __future__ import annotations

import pytest

from mqkit.testing.virtual_time import advance as module
from mqkit.testing.virtual_time.advance import Advance
from mqkit.testing.virtual_time.alarms import Alarm, Alarms
from mqkit.testing.virtual_time.ports import Held, Look
from mqkit.testing.virtual_time.settling import NotSettled, Settling


class Broker:
    """Deadlines that are due, and what a look finds."""

    def __init__(self, *due_ms: int) -> None:
        self.due_ms = list(due_ms)
        self.moves: list[int] = []
        self.held: tuple[Held, ...] = ()
        self.repeats = False

    def stop_clock(self) -> int:
        return 0

    def run_clock(self) -> None: ...

    def next_ms(self) -> int | None:
        return min(self.due_ms, default=None)

    def move_to(self, time_ms: int) -> None:
        self.moves.append(time_ms)
        if not self.repeats:
            self.due_ms = [each for each in self.due_ms if each > time_ms]

    def look(self) -> Look:
        return Look(True, 0, self.held)


def advance(broker: Broker, alarms: Alarms, span_ms: int, holding: int = 0) -> None:
    settling = Settling(broker, alarms)
    Advance(broker, alarms, settling, 0, lambda _: None).run(span_ms * 1000, 0.0, holding)


def test_each_moment_has_its_turn_in_order() -> None:
    broker, alarms = Broker(30, 10, 90), Alarms()
    heard: list[list[int]] = []
    for at_us in (20_500, 30_000, 95_000):
        ring = lambda: heard.append(list(broker.moves))  # noqa: E731
        alarms.add(Alarm(at_us, ring, loop=None, task=None, works=False, foreign=False))
    advance(broker, alarms, 80)
    assert broker.moves == [10, 20, 30, 80]
    assert heard == [[10, 20], [10, 20, 30]]  # at 30 the broker's work came first


def test_what_was_due_before_is_done_now() -> None:
    broker = Broker(-5)
    advance(broker, Alarms(), 1)
    assert broker.moves == [0, 1]


def test_time_that_gets_nowhere_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS_MAX", 7)
    broker = Broker(5)
    broker.repeats = True
    with pytest.raises(NotSettled, match="something became due 7 times"):
        advance(broker, Alarms(), 10)


def test_what_is_held_is_not_waited_for() -> None:
    broker = Broker(10)
    broker.held = (Held((1, 1, 1), "c", "message 1"),)
    with pytest.raises(NotSettled, match=r"0 s on, .*: message 1$"):
        advance(broker, Alarms(), 20)
    advance(broker, Alarms(), 20, holding=1)
    assert broker.moves == [10, 20]
