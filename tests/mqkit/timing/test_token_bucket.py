"""A token bucket by a clock that stands still."""

from __future__ import annotations

from mqkit.testing.clock import FakeClock
from mqkit.timing.token_bucket import TokenBucket


def test_a_burst_then_one_for_each_interval() -> None:
    clock = FakeClock()
    bucket = TokenBucket(3, 60.0, clock)
    assert [bucket.take() for _ in range(5)] == [True, True, True, False, False]
    clock.advance(59.0)
    assert not bucket.take()
    clock.advance(1.0)
    assert [bucket.take(), bucket.take()] == [True, False]


def test_it_is_never_more_than_full() -> None:
    clock = FakeClock()
    bucket = TokenBucket(2, 60.0, clock)
    bucket.take()
    clock.advance(86_400.0)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
