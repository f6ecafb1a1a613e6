"""The generator of faults."""

from __future__ import annotations

from itertools import islice

from interop.chaos.layout import ASK, WORK, all_queues
from interop.chaos.plan import DURATIONS_S, PAUSE_S, Fault, Kind, faults


def some(seed: int, number: int = 200) -> list[Fault]:
    return list(islice(faults(seed), number))


def test_the_same_seed_gives_the_same_faults() -> None:
    assert some(7) == some(7)


def test_another_seed_gives_others() -> None:
    assert some(7) != some(8)


def test_each_kind_comes_once_before_any_comes_again() -> None:
    first, second = some(3)[: len(Kind)], some(3)[len(Kind) : 2 * len(Kind)]
    assert {fault.kind for fault in first} == {fault.kind for fault in second} == set(Kind)


def test_only_the_kinds_asked_for_come() -> None:
    kinds = (Kind.CUT, Kind.KILL)
    assert {fault.kind for fault in islice(faults(1, kinds), 20)} == set(kinds)


def test_a_fault_is_held_as_long_as_its_kind_says() -> None:
    for fault in some(5):
        low, high = DURATIONS_S.get(fault.kind, (0.0, 0.0))
        assert low <= fault.lasts_s <= high
        assert PAUSE_S[0] <= fault.pause_s <= PAUSE_S[1]


def test_a_queue_that_is_deleted_is_one_of_the_apps_and_names_its_owner() -> None:
    deleting = [fault for fault in some(11, 500) if fault.queue]
    assert {fault.kind for fault in deleting} == {
        Kind.DELETE_QUEUE,
        Kind.DELETE_TIER,
        Kind.DELETE_LOT,
        Kind.REDECLARE,
    }
    for fault in deleting:
        assert fault.owner in (*WORK, ASK)
        assert fault.queue in all_queues()
        assert fault.queue.startswith(fault.owner)
