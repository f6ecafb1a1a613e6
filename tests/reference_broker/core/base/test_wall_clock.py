"""A wall clock that runs evenly, over a system clock that is set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.wall_clock import FOLLOWS, LOOK_S, STEP_MS, WallClock


class System:
    """A system's clock, and what the process was told of its steps."""

    def __init__(self) -> None:
        self.mono_s = 500.0
        self.ahead_ms = 0
        self.told: list[int] = []
        self.clock = WallClock(self.mono_s, lambda: 1000 * self.ms(), self.told.append)

    def ms(self) -> int:
        return 1_000_000 + round((self.mono_s - 500) * 1000) + self.ahead_ms

    def after(self, seconds: float) -> int:
        self.mono_s += seconds
        return self.clock.at(self.mono_s)


def test_it_is_the_system_s_clock_where_nobody_sets_that() -> None:
    system = System()
    assert system.after(0.0) == 1_000_000
    assert [system.after(0.25) for _ in range(8)] == [1_000_250 + 250 * n for n in range(8)]
    assert system.after(3_600.0) == system.ms()
    assert system.told == []


def test_a_step_changes_a_duration_by_a_hundredth() -> None:
    for hour in (3_600_000, -3_600_000):
        system = System()
        system.ahead_ms = hour
        before = system.after(LOOK_S)
        passed = system.after(10.0) - before
        assert abs(passed - 10_000) == 10_000 * FOLLOWS
        assert (passed > 10_000) == (hour > 0)
        assert len(system.told) == 1
        assert abs(system.told[0] - hour) < STEP_MS


def test_it_comes_to_the_system_s_time_again() -> None:
    system = System()
    system.ahead_ms = 2_000
    for _ in range(250):
        now = system.after(1.0)
    assert now == system.ms()
    assert len(system.told) == 1
    system.ahead_ms = -2_000
    system.after(LOOK_S)
    assert len(system.told) == 2, "the next step"


def test_a_look_does_not_set_it_back() -> None:
    """A difference is spread over the time after the look, however short a step is."""
    system = System()
    system.after(LOOK_S - 0.001)
    system.ahead_ms = -60_000
    before = system.after(0.0)
    assert [system.after(seconds) - before for seconds in (0.001, 0.001, 0.998)] == [1, 1, 990]


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(-(10**7), 10**7)), max_size=30))
def test_it_never_goes_back(steps: list[tuple[float, int]]) -> None:
    system = System()
    seen = [system.after(0.0)]
    for seconds, ahead_ms in steps:
        system.ahead_ms = ahead_ms
        seen.append(system.after(seconds))
        assert 0.99 * seconds * 1000 - 2 <= seen[-1] - seen[-2] <= 1.01 * seconds * 1000 + 2
    assert seen == sorted(seen)
