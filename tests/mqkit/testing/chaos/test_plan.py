"""The faults of a seed."""

from __future__ import annotations

from itertools import islice

from mqkit.testing.chaos.plan import LASTING, LENGTH_S, PAUSE_S, Fault, plan


def test_a_seed_gives_the_same_faults() -> None:
    assert list(islice(plan(7), 50)) == list(islice(plan(7), 50))
    assert list(islice(plan(7), 50)) != list(islice(plan(8), 50))


def test_each_fault_comes_once_in_every_five() -> None:
    steps = list(islice(plan(7), 50))
    for start in range(0, 50, len(Fault)):
        assert {step.fault for step in steps[start : start + len(Fault)]} == set(Fault)


def test_pauses_and_lengths_are_within_their_bounds() -> None:
    for step in islice(plan(7), 50):
        assert PAUSE_S[0] <= step.after_s <= PAUSE_S[1]
        if step.fault in LASTING:
            assert LENGTH_S[0] <= step.length_s <= LENGTH_S[1]
        else:
            assert step.length_s == 0
