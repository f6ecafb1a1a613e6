from __future__ import annotations

import pytest

from reference_broker.store.liveness import Liveness, SegmentUse
from reference_broker.store.segment import SegmentName


@pytest.fixture
def liveness() -> Liveness:
    return Liveness()


def segments(liveness: Liveness, count: int) -> list[SegmentUse]:
    """Sealed ones of 100 bytes, at 0, 100, 200 ... with nothing in them."""
    uses = []
    for index in range(count):
        use = liveness.add(SegmentName(index * 100, 1), 100)
        use.sealed = True
        use.end = use.base + 100
        uses.append(use)
    return uses


def test_a_segment_is_dead_when_its_last_entry_is_settled(liveness: Liveness) -> None:
    first, second = segments(liveness, 2)
    first.live = 2
    liveness.settle(10, 7, 10, by=second)
    assert liveness.take_dead() == []
    liveness.settle(20, 7, 20, by=second)
    assert liveness.take_dead() == [first]
    assert liveness.take_dead() == []


def test_the_segment_in_use_is_never_dead(liveness: Liveness) -> None:
    use = liveness.add(SegmentName(0, 1), 100)
    use.live = 1
    liveness.settle(10, 7, 10, by=use)
    assert liveness.take_dead() == []
    liveness.seal(use, 90)
    assert liveness.take_dead() == [use]


def test_acks_are_kept_until_what_they_speak_about_is_durably_gone(liveness: Liveness) -> None:
    first, second, third = segments(liveness, 3)
    first.live = second.live = 1
    liveness.settle(150, 7, 150, by=third)
    liveness.settle(50, 7, 50, by=second)
    # second is empty, but holds the ack of first
    assert liveness.take_dead() == [first]
    assert liveness.take_dead() == []
    liveness.removed([first])
    assert liveness.take_dead() == [second]
    liveness.removed([second])
    liveness.seal(third, 300)
    assert liveness.take_dead() == [third]


def test_a_requeue_is_kept_like_an_ack(liveness: Liveness) -> None:
    first, second = segments(liveness, 2)
    first.live = second.live = 1
    liveness.requeue(50, 7, 50, by=second)
    liveness.settle(150, 7, 150, by=second)
    assert liveness.take_dead() == []
    liveness.settle(50, 7, 50, by=second)
    assert liveness.take_dead() == [first]
    liveness.removed([first])
    assert liveness.take_dead() == [second]


def test_a_referred_body_keeps_its_segment(liveness: Liveness) -> None:
    first, second = segments(liveness, 2)
    first.live = 1
    second.live = 2
    liveness.refer(150, body_position=50, entries=2)
    liveness.settle(50, 7, 50, by=second)
    assert liveness.moved[150].position == 50
    liveness.settle(150, 7, 150, by=second)
    assert liveness.take_dead() == []
    liveness.settle(150, 7, 150, by=second)
    assert liveness.take_dead() == [first]
    assert liveness.moved == {}


def test_definitions_are_kept_until_a_later_snapshot(liveness: Liveness) -> None:
    first, second = segments(liveness, 2)
    first.defines = True
    first.live = 1
    liveness.settle(50, 7, 50, by=None)
    assert liveness.take_dead() == []
    assert liveness.held_by_definitions_bytes() == 100
    liveness.snapshot(second)
    assert liveness.held_by_definitions_bytes() == 0
    assert liveness.take_dead() == [first]


def test_a_snapshot_in_the_same_segment_frees_nothing(liveness: Liveness) -> None:
    (only,) = segments(liveness, 1)
    only.defines = True
    liveness.snapshot(only)
    liveness.seal(only, 100)
    assert liveness.take_dead() == []


def test_positions_of_deleted_segments_are_nobodys(liveness: Liveness) -> None:
    first, second, third = segments(liveness, 3)
    second.live = 1
    assert liveness.find(150) is second
    liveness.settle(150, 7, 150, by=third)
    liveness.removed(liveness.take_dead())
    assert liveness.find(150) is None
    assert liveness.find(50) is first
    assert liveness.find(299) is third
    assert liveness.find(300) is None


def test_find_follows_the_real_end_of_a_segment(liveness: Liveness) -> None:
    first = liveness.add(SegmentName(0, 1), 100)
    assert liveness.find(80) is first
    liveness.seal(first, 70)
    second = liveness.add(SegmentName(70, 1), 100)
    assert liveness.find(80) is second


def test_a_segment_that_only_speaks_about_one_that_stays_is_a_messenger(
    liveness: Liveness,
) -> None:
    first, second, third = segments(liveness, 3)
    first.live, second.live = 4, 1
    liveness.settle(10, 7, 1, by=second)
    liveness.settle(20, 7, 2, by=second)
    liveness.requeue(30, 7, 3, by=second)
    liveness.settle(150, 8, 1, by=third)  # second is empty now, third speaks about it
    liveness.seal(third, 300)
    assert liveness.take_dead() == []

    assert liveness.take_messengers(bytes_per_range=50, gain=2) == []  # not worth it
    liveness.seal(third, 300)
    ((about, speech),) = liveness.take_messengers(bytes_per_range=10, gain=2)
    assert about is first
    assert list(speech.acked) == [(7, 1, 2)]
    assert list(speech.requeued) == [(7, 3, 3)]
    assert liveness.take_dead() == [second]
    liveness.removed([second])
    assert liveness.take_dead() == [third]


def test_a_messenger_waits_for_one_that_it_speaks_about(liveness: Liveness) -> None:
    first, second, third = segments(liveness, 3)
    first.live, second.live = 2, 1
    liveness.settle(10, 7, 1, by=second)
    liveness.settle(150, 7, 2, by=third)
    liveness.seal(third, 300)
    ((about, _),) = liveness.take_messengers(bytes_per_range=1, gain=1)
    assert about is first  # what third says about second is never said again
