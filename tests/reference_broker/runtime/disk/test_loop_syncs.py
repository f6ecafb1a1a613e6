"""The choice between the loop and the thread: by the shape of a batch, and by how long it took."""

from __future__ import annotations

import pytest

from reference_broker.runtime.disk.loop_syncs import (
    FORGIVEN_S,
    LOOP_BYTES,
    REST_MAX_S,
    REST_S,
    SLOW_S,
    LoopSyncs,
)
from reference_broker.store import Batch

SMALL = Batch([], 0, [], size_bytes=100, in_place=True)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.loop_syncs = LoopSyncs(lambda: self.now_s)

    def perform(self, seconds: float) -> None:
        assert self.loop_syncs.may_take(SMALL)
        began = self.now_s
        self.now_s += seconds
        self.loop_syncs.took(began)

    def rest_s(self) -> float:
        """Seconds from now until the loop may take a batch again, to the tenth; time passes."""
        began = self.now_s
        while not self.loop_syncs.may_take(SMALL):
            self.now_s += 0.1
        return round(self.now_s - began, 1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    ("batch", "taken"),
    [
        (SMALL, True),
        (Batch([], 0, [], LOOP_BYTES, True), True),
        (Batch([], 0, [], LOOP_BYTES + 1, True), False),
        (Batch([], 0, [], 100, False), False),
    ],
)
def test_small_batches_in_place_are_the_loops(clock: Clock, batch: Batch, taken: bool) -> None:
    assert clock.loop_syncs.may_take(batch) is taken


def test_a_disk_that_is_quick_stays_with_the_loop(clock: Clock) -> None:
    for _ in range(100):
        clock.perform(SLOW_S * 0.9)


def test_each_slow_sync_has_a_longer_rest_up_to_a_bound(clock: Clock) -> None:
    rests = []
    for _ in range(9):
        clock.perform(2 * SLOW_S)
        rests.append(clock.rest_s())
    assert rests == pytest.approx([1, 2, 4, 8, 16, 32, 64, 64, 64], abs=0.2)
    assert rests[-1] == pytest.approx(REST_MAX_S, abs=0.2)


def test_a_second_without_a_slow_sync_is_forgiveness(clock: Clock) -> None:
    for _ in range(3):
        clock.perform(2 * SLOW_S)
        rest_s = clock.rest_s()
    clock.now_s += FORGIVEN_S / 2
    clock.perform(0)
    clock.perform(2 * SLOW_S)
    assert clock.rest_s() == pytest.approx(2 * rest_s, abs=0.2), "too soon"
    clock.now_s += FORGIVEN_S
    clock.perform(0)
    clock.perform(2 * SLOW_S)
    assert clock.rest_s() == pytest.approx(REST_S, abs=0.2)
