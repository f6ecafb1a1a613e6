"""Watermarks call what waits, once, in the order of the numbers, and no sooner."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.journal.watermark import Watermark


def test_what_waits_is_called_once_its_number_is_reached_and_never_again() -> None:
    mark, called = Watermark(10), list[str]()
    for value, name in ((30, "late"), (20, "first"), (20, "second"), (11, "next")):
        mark.when_at(value, partial(called.append, name))
    mark.rise(10)
    assert (called, len(mark)) == ([], 4)
    mark.rise(20)
    assert called == ["next", "first", "second"]
    mark.rise(19)
    assert mark.value == 20
    mark.rise(1_000)
    mark.rise(2_000)
    assert (called, len(mark)) == (["next", "first", "second", "late"], 0)


def test_what_is_called_may_wait_again() -> None:
    mark, called = Watermark(), list[int]()

    def again() -> None:
        called.append(mark.value)
        if mark.value < 3:
            mark.when_at(mark.value + 1, again)

    mark.when_at(1, again)
    for value in range(1, 6):
        mark.rise(value)
    assert called == [1, 2, 3]


@given(st.lists(st.integers(1, 50), max_size=30), st.lists(st.integers(0, 60), max_size=10))
def test_at_each_number_those_were_called_that_are_not_above_it(
    wanted: list[int], rises: list[int]
) -> None:
    mark, called = Watermark(), list[int]()
    for value in wanted:
        mark.when_at(value, partial(called.append, value))
    for number, value in enumerate(rises, 1):
        mark.rise(value)
        assert mark.value == max(rises[:number])
        assert called == sorted(each for each in wanted if each <= mark.value)
    assert len(mark) + len(called) == len(wanted)
