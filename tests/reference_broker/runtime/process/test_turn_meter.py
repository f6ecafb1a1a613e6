"""The meter of turns, on a clock that the test moves."""

from __future__ import annotations

from reference_broker.runtime.process.turn_meter import LONG_TURN_MS, TurnMeter

MS = 1_000_000


class Clock:
    """Nanoseconds that stand still until they are moved."""

    def __init__(self) -> None:
        self.ns = 5 * MS

    def __call__(self) -> int:
        return self.ns


def test_the_longest_turn_is_known_with_what_took_most_of_it() -> None:
    clock, lines = Clock(), list[str]()
    meter = TurnMeter(lines.append, clock)
    meter.input("frames of a client")
    clock.ns += 3 * MS
    meter.input("a tick")
    clock.ns += 9 * MS
    meter.input("a sync")
    clock.ns += 1 * MS
    meter.end()
    meter.input("frames of a client")
    clock.ns += 2 * MS
    meter.end()
    assert (meter.longest_ms, meter.longest_cause, meter.turns) == (13.0, "a tick", 2)
    assert lines == []


def test_a_long_turn_is_reported() -> None:
    clock, lines = Clock(), list[str]()
    meter = TurnMeter(lines.append, clock)
    meter.input("a tick")
    clock.ns += int((LONG_TURN_MS + 1) * MS)
    meter.end()
    assert lines == ["a turn of the loop took 51 ms, mostly for a tick"]


def test_between_turns_nothing_is_measured() -> None:
    clock = Clock()
    meter = TurnMeter(lambda line: None, clock)
    meter.end()
    clock.ns += 100 * MS
    meter.input("a tick")
    meter.end()
    assert (meter.longest_ms, meter.turns) == (0.0, 1)


def test_the_start_is_no_turn() -> None:
    clock, lines = Clock(), list[str]()
    meter = TurnMeter(lines.append, clock)
    meter.input("a sync")
    clock.ns += 100 * MS
    meter.begin_anew()
    meter.end()
    meter.input("a tick")
    clock.ns += 2 * MS
    meter.end()
    assert (meter.longest_ms, meter.longest_cause, lines) == (2.0, "a tick", [])
