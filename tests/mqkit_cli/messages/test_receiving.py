"""The number of deliveries under way: never more than are still wanted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit_cli.messages.receiving import HELD_MAX, PREFETCH, Reading


@given(st.integers(1, 3 * PREFETCH))
def test_with_a_count_exactly_so_many_are_delivered(count: int) -> None:
    reading = Reading("q", count, None, requeue=False)
    delivered, acked = reading.prefetch, 0
    for taken in range(1, count + 1):
        assert taken <= delivered  # it never waits for what its own missing ack keeps back
        if reading.acks_at_once(taken):
            acked += 1
            delivered += 1
    assert delivered == count


def test_without_a_count_each_is_acked_at_once() -> None:
    reading = Reading("q", None, None, requeue=False)
    assert reading.wanted is None
    assert reading.prefetch == PREFETCH
    assert all(reading.acks_at_once(taken) for taken in (1, PREFETCH, 10 * PREFETCH))


def test_what_is_put_back_is_bounded_and_never_acked() -> None:
    reading = Reading("q", None, None, requeue=True)
    assert reading.wanted == reading.prefetch == HELD_MAX
    assert not any(reading.acks_at_once(taken) for taken in (1, HELD_MAX))
    assert Reading("q", 3, None, requeue=True).prefetch == 3
