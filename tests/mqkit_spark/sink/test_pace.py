"""mqkit_spark.sink.pace: a burst, then one message for each interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit_spark.sink.pace import Pace, SystemWaiting


class FakeWaiting:
    """A clock that goes on by its pauses only."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def pause(self, delay_s: float) -> None:
        assert delay_s > 0
        self.now_s += delay_s


def test_without_a_rate_there_is_no_wait_and_no_bound() -> None:
    waiting = FakeWaiting()
    pace = Pace(None, waiting)
    pace.wait(10**9)
    assert (pace.burst, waiting.now_s) == (None, 0.0)


def test_a_slow_rate_lets_one_through_at_a_time() -> None:
    waiting = FakeWaiting()
    pace = Pace(0.5, waiting)
    assert pace.burst == 1
    pace.wait(1)
    assert waiting.now_s == 0
    pace.wait(3)
    assert waiting.now_s == pytest.approx(6, abs=0.01)


@given(st.floats(0.1, 100_000), st.integers(1, 2_000))
def test_never_more_than_the_rate_and_a_burst(rate: float, messages: int) -> None:
    waiting = FakeWaiting()
    pace = Pace(rate, waiting)
    pace.wait(messages)
    assert pace.burst is not None
    assert messages <= pace.burst + rate * waiting.now_s + 1e-6


def test_the_machines_clock_goes_on() -> None:
    waiting = SystemWaiting()
    before = waiting.monotonic_s()
    waiting.pause(0.001)
    assert waiting.monotonic_s() > before
