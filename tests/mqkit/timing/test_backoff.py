"""Waits between attempts: they double up to a ceiling, and jitter covers all of the range."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit.timing.backoff import Backoff


def test_the_ceiling_doubles_until_the_maximum() -> None:
    backoff = Backoff(0.5, 3.0, rng=lambda: 1.0)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.next_s() == 0.5


@given(st.floats(0, 1), st.integers(1, 200))
def test_a_wait_is_between_zero_and_the_maximum(luck: float, failures: int) -> None:
    backoff = Backoff(0.5, 30.0, rng=lambda: luck)
    for _ in range(failures):
        assert 0 <= backoff.next_s() <= 30.0
