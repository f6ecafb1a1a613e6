"""Which segments are worth rewriting."""

from __future__ import annotations

import pytest

from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.rewrite.rewrite import SMALL_PART, choose

SEGMENT = 16_000
SMALL = SEGMENT // SMALL_PART - 1


class Books:
    """Sealed segments, one after another; the last one in them is the one in use."""

    def __init__(self) -> None:
        self.liveness = Liveness()
        self._tail = 0

    def add(
        self, live: int, *, size: int = SEGMENT, capacity: int | None = None, foreign: int = 0
    ) -> SegmentUse:
        use = SegmentUse(SegmentName(self._tail, 1), size)
        self._tail += size
        use.live_bytes = live
        self.liveness.add(use)
        self.liveness.seal(use, self._tail, size, size if capacity is None else capacity)
        if foreign:
            use.references[10**9] = foreign
        return use

    def choose(self) -> list[SegmentUse]:
        open_one = SegmentUse(SegmentName(self._tail, 1), SEGMENT)
        return choose([*self.liveness, open_one], SEGMENT)


def test_half_live_is_kept_and_less_is_rewritten() -> None:
    books = Books()
    books.add(SEGMENT // 2)
    assert books.choose() == []
    below = books.add(SEGMENT // 2 - 1)
    books.add(SEGMENT // 2)
    assert books.choose() == [below]


def test_its_ranges_about_others_have_to_be_carried_on_too() -> None:
    books = Books()
    books.add(SEGMENT // 4, foreign=SEGMENT // 4)
    assert books.choose() == []
    only_foreign = books.add(0, foreign=SEGMENT // 4)
    assert books.choose() == [only_foreign]


def test_what_is_dead_goes_without_that() -> None:
    books = Books()
    books.add(0)
    assert books.choose() == []


def test_neighbours_are_merged_up_to_half_a_segment() -> None:
    books = Books()
    stuck = [books.add(SEGMENT // 10) for _ in range(7)]
    assert books.choose() == stuck[:5]


def test_a_thousand_stuck_messages_are_one_rewriting() -> None:
    books = Books()
    stuck = [books.add(7) for _ in range(1000)]
    assert books.choose() == stuck


def test_the_oldest_comes_first_and_a_gap_ends_it() -> None:
    books = Books()
    first = books.add(10)
    books.add(SEGMENT)
    books.add(10)
    assert books.choose() == [first]


def test_small_neighbours_of_a_victim_come_along() -> None:
    books = Books()
    books.add(SEGMENT)
    small = books.add(300, size=SMALL, capacity=300)
    victim = books.add(10)
    after = books.add(200, size=SMALL, capacity=200)
    assert books.choose() == [small, victim, after]


@pytest.mark.parametrize(("count", "merged"), [(SMALL_PART - 1, 0), (SMALL_PART, SMALL_PART)])
def test_small_ones_alone_are_merged_when_there_are_enough(count: int, merged: int) -> None:
    books = Books()
    for _ in range(count):
        books.add(100, size=SMALL, capacity=100)
    assert len(books.choose()) == merged


def test_small_ones_that_would_fill_a_segment_are_left_alone() -> None:
    books = Books()
    for _ in range(20):
        books.add(SMALL, size=SMALL, capacity=SMALL)
    assert books.choose() == []


def test_a_victim_behind_a_run_that_is_not_worth_it_is_found() -> None:
    books = Books()
    for _ in range(3):
        books.add(SMALL, size=SMALL, capacity=SMALL)
    books.add(SEGMENT)
    victim = books.add(1)
    assert books.choose() == [victim]


def test_a_victim_larger_than_a_segment_is_rewritten_alone() -> None:
    books = Books()
    books.add(10, size=SMALL, capacity=10)
    large = books.add(SEGMENT * 3, size=SEGMENT * 10)
    books.add(10, size=SMALL, capacity=10)
    assert books.choose() == [large]


@pytest.mark.parametrize("flag", ["damaged", "defines"])
def test_what_must_stay_as_it_is(flag: str) -> None:
    books = Books()
    setattr(books.add(10), flag, True)
    assert books.choose() == []
