from __future__ import annotations

import pytest

from reference_broker.store.format.extents import ExtentTable
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import TRANSITIONS, Liveness, SegmentState, SegmentUse


@pytest.fixture
def liveness() -> Liveness:
    return Liveness()


def segments(liveness: Liveness, *live_bytes: int) -> list[SegmentUse]:
    """Sealed ones of 100 bytes, at 0, 100, 200 ... with so much that is live."""
    uses = []
    for index, live in enumerate(live_bytes):
        use = liveness.add(SegmentUse(SegmentName(index * 100, 1), 100))
        use.live_bytes = live
        liveness.seal(use, use.base + 100, 100, capacity_bytes=100)
        uses.append(use)
    return uses


def test_a_segment_is_dead_when_its_last_byte_is_settled(liveness: Liveness) -> None:
    first, _ = segments(liveness, 60, 100)
    liveness.settle(10, 20)
    assert liveness.take_dead() == []
    assert liveness.settle(20, 40) is first
    assert liveness.take_dead() == [first]
    assert liveness.take_dead() == []


def test_the_segment_in_use_is_never_dead(liveness: Liveness) -> None:
    use = liveness.add(SegmentUse(SegmentName(0, 1), 100))
    use.live_bytes = 10
    liveness.settle(10, 10)
    assert liveness.take_dead() == []
    liveness.seal(use, 90, 90, 90)
    assert liveness.take_dead() == [use]


def test_an_ack_is_kept_until_the_segment_that_it_refers_to_is_durably_gone(
    liveness: Liveness,
) -> None:
    first, second = segments(liveness, 10, 10)
    liveness.settle(150, 10)
    liveness.settle(50, 10)
    liveness.add_reference(first, second, 28)  # second is empty, but holds the ack of first
    assert liveness.take_dead() == [first]
    assert liveness.take_dead() == []
    liveness.removed([first])
    assert liveness.take_dead() == [second]


def test_definitions_are_kept_until_a_later_snapshot(liveness: Liveness) -> None:
    first, second = segments(liveness, 10, 100)
    first.defines = True
    liveness.settle(50, 10)
    assert liveness.take_dead() == []
    assert liveness.held_by_definitions_bytes() == 100
    liveness.snapshot(second)
    assert liveness.held_by_definitions_bytes() == 0
    assert liveness.take_dead() == [first]
    assert second.defines


def test_what_a_rewriting_could_free_is_held_by_definitions_too(liveness: Liveness) -> None:
    first, second = segments(liveness, 60, 100)
    first.defines = True
    liveness.settle(10, 20)
    assert liveness.held_by_definitions_bytes() == 60
    assert not first.victim
    liveness.snapshot(second)
    assert first.victim


def test_a_snapshot_in_the_same_segment_frees_nothing(liveness: Liveness) -> None:
    use = liveness.add(SegmentUse(SegmentName(0, 1), 100))
    use.defines = True
    liveness.snapshot(use)
    liveness.seal(use, 100, 100, 100)
    assert liveness.take_dead() == []


def test_positions_of_deleted_segments_are_nobodys(liveness: Liveness) -> None:
    first, second, third = segments(liveness, 10, 10, 10)
    assert liveness.find(150) is second
    liveness.settle(150, 10)
    liveness.removed(liveness.take_dead())
    assert liveness.find(150) is None
    assert liveness.settle(150, 10) is None
    assert liveness.find(50) is first
    assert liveness.find(299) is third
    assert liveness.find(300) is None
    assert list(liveness) == [first, third]
    assert list(liveness.bases) == [0, 200]


def test_find_follows_the_real_end_of_a_segment(liveness: Liveness) -> None:
    first = liveness.add(SegmentUse(SegmentName(0, 1), 100))
    assert liveness.find(80) is first
    liveness.seal(first, 70, 70, 70)
    second = liveness.add(SegmentUse(SegmentName(70, 1), 100))
    assert liveness.find(80) is second


def test_it_is_noticed_when_less_than_half_is_needed_though_it_was_looked_at_before(
    liveness: Liveness,
) -> None:
    """It is looked at again when a segment that it refers to is gone. From then on only its last
    byte was waited for."""
    first, second = segments(liveness, 10, 80)
    liveness.add_reference(first, second, 28)
    liveness.settle(50, 10)
    liveness.removed(liveness.take_dead())
    liveness.worth_a_look = liveness.look()
    liveness.settle(110, 30)
    assert (liveness.worth_a_look, second.victim) == (False, False)
    liveness.settle(140, 1)
    assert (liveness.worth_a_look, second.victim) == (True, True)


def test_what_is_carried_on_for_others_counts_as_needed(liveness: Liveness) -> None:
    first, second = segments(liveness, 100, 60)
    liveness.add_reference(first, second, 20)
    liveness.examine(second)
    liveness.worth_a_look = liveness.look()
    liveness.settle(110, 30)
    assert (liveness.worth_a_look, second.victim) == (False, False)
    liveness.settle(140, 1)
    assert (liveness.worth_a_look, second.victim) == (True, True)


def test_a_victim_is_less_than_half_needed(liveness: Liveness) -> None:
    first, second = segments(liveness, 50, 49)
    assert not first.victim
    assert second.victim
    liveness.add_reference(first, second, 1)
    assert not second.victim
    second.damaged = True
    assert not second.rewritable


def test_an_empty_segment_is_no_victim_for_it_will_be_deleted(liveness: Liveness) -> None:
    first, second = segments(liveness, 100, 0)
    assert not second.victim
    liveness.add_reference(first, second, 10)
    assert second.victim


def test_it_is_worth_a_look_only_when_something_has_changed(liveness: Liveness) -> None:
    segments(liveness, 100)
    assert liveness.worth_a_look
    liveness.worth_a_look = False
    liveness.settle(10, 50)
    assert not liveness.worth_a_look  # half of it
    liveness.settle(10, 1)
    assert liveness.worth_a_look
    liveness.worth_a_look = False
    liveness.settle(10, 1)
    assert not liveness.worth_a_look  # that was known
    liveness.settle(10, 48)
    assert liveness.worth_a_look  # and now it is dead


def rewritten(base: int, end: int) -> SegmentUse:
    use = SegmentUse(SegmentName(base, 1, 1), 40)
    use.end = end
    use.extents = ExtentTable()
    return use


def test_a_rewritten_segment_stands_for_its_sources(liveness: Liveness) -> None:
    first, second, third, fourth = segments(liveness, 30, 20, 100, 100)
    liveness.add_reference(first, second, 5)
    liveness.add_reference(second, third, 7)
    liveness.add_reference(first, fourth, 3)
    liveness.add_reference(fourth, first, 9)
    liveness.bake([first, second])
    assert third.references == {}
    assert third.baking == {100: 7}
    liveness.settle(110, 5)
    liveness.add_reference(second, third, 2)  # added after the plan was made

    new = rewritten(0, 200)
    liveness.replace([first, second], new, {300: 9, 12345: 4})
    assert liveness.find(10) is liveness.find(150) is new
    assert new.live_bytes == 45
    assert new.capacity_bytes == 58
    assert new.references == {300: 9}
    assert third.references == {0: 2}
    assert not third.baking
    assert not fourth.references
    assert not fourth.baking
    assert list(liveness.bases) == [0, 200, 300]
    assert first.state is second.state is SegmentState.DELETING

    liveness.settle(10, 45)
    assert liveness.take_dead() == []
    liveness.settle(310, 100)
    liveness.removed(liveness.take_dead())
    assert liveness.take_dead() == [new]
    liveness.removed([new])
    assert third.references == {}


def test_a_rewriting_that_is_given_up_leaves_all_as_it_was(liveness: Liveness) -> None:
    first, second = segments(liveness, 30, 60)
    liveness.add_reference(first, second, 7)
    liveness.bake([first])
    liveness.add_reference(first, second, 2)
    liveness.settle(10, 30)
    assert liveness.take_dead() == []  # it is being read
    liveness.unbake([first])
    assert second.references == {0: 9}
    assert liveness.take_dead() == [first]


def test_what_is_baked_is_kept_until_the_new_file_is_there(liveness: Liveness) -> None:
    first, second = segments(liveness, 30, 10)
    liveness.add_reference(first, second, 7)
    liveness.bake([first])
    liveness.settle(110, 10)
    assert liveness.take_dead() == []
    liveness.replace([first], rewritten(0, 100), {})
    assert liveness.take_dead() == [second]


@pytest.mark.parametrize("state", SegmentState)
@pytest.mark.parametrize("following", SegmentState)
def test_the_life_of_a_segment_is_a_table(state: SegmentState, following: SegmentState) -> None:
    use = SegmentUse(SegmentName(0, 1), 100)
    use.state = state
    if following in TRANSITIONS[state]:
        use.change(following)
        assert use.state is following
    else:
        with pytest.raises(AssertionError, match=f"{state.name} -> {following.name}"):
            use.change(following)
        assert use.state is state
