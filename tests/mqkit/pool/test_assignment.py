"""The pool's decisions: never too many, never a busy one, first come first served."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from mqkit.pool.assignment import SLOT_TRANSITIONS, SlotState, assign


@dataclass(frozen=True)
class Slot:
    state: SlotState
    is_open: bool = True
    is_quiescent: bool = True


IDLE = Slot(SlotState.IDLE)
LENT = Slot(SlotState.LENT)
OPENING = Slot(SlotState.OPENING, is_open=False)


def test_nobody_waits_nothing_happens() -> None:
    nobody: list[str] = []
    decision = assign(nobody, [IDLE, LENT], 2)
    assert (decision.lend, decision.drop, decision.settle, decision.open_count) == ((), (), (), 0)


def test_the_first_to_come_gets_the_free_one_and_one_more_is_opened() -> None:
    decision = assign(["first", "second"], [IDLE, LENT], 3)
    assert decision.lend == (("first", IDLE),)
    assert decision.open_count == 1


def test_what_is_being_opened_is_not_opened_twice() -> None:
    assert assign(["one"], [OPENING], 5).open_count == 0
    assert assign(["one", "two"], [OPENING], 5).open_count == 1


def test_the_maximum_counts_what_is_still_closing() -> None:
    closing = Slot(SlotState.CLOSING)
    assert assign(["one"], [closing, LENT], 2).open_count == 0


def test_a_broken_idle_one_makes_room() -> None:
    broken = Slot(SlotState.IDLE, is_open=False)
    decision = assign(["one"], [broken], 1)
    assert decision.drop == (broken,)
    assert decision.open_count == 1


def test_every_state_has_its_moves() -> None:
    assert set(SLOT_TRANSITIONS) == set(SlotState)


_slots = st.lists(
    st.builds(Slot, st.sampled_from(SlotState), st.booleans(), st.booleans()), max_size=12
)


@given(st.lists(st.integers(), unique=True, max_size=12), _slots, st.integers(0, 6))
def test_the_laws_hold_in_any_situation(waiters: list[int], slots: list[Slot], spare: int) -> None:
    channels_max = len(slots) + spare
    decision = assign(waiters, slots, channels_max)
    assert len(slots) - len(decision.drop) + decision.open_count <= channels_max
    assert [waiter for waiter, _ in decision.lend] == waiters[: len(decision.lend)]
    for _, slot in decision.lend:
        assert slot == IDLE
    served = sum(1 for slot in slots if slot == IDLE)
    assert len(decision.lend) == min(len(waiters), served)
    for slot in decision.settle:
        assert slot.state is SlotState.IDLE
        assert not slot.is_quiescent
    assert decision.open_count <= len(waiters) - len(decision.lend)
