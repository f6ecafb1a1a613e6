from __future__ import annotations

from reference_broker.core.index.priority import first_sequence
from reference_broker.store.liveness.losses import LEAST_MESSAGE_BYTES, Losses

PLENTY = 1000 * LEAST_MESSAGE_BYTES


def test_while_nothing_is_damaged_nothing_is_watched() -> None:
    losses = Losses()
    losses.entered((7, 0), 100)
    assert not losses.watching
    assert losses.counts() == {}


def test_what_is_missing_around_a_gap_is_counted_per_queue() -> None:
    losses = Losses()
    losses.gap(PLENTY, {(7, 0): 11, (8, 0): 5})
    losses.entered((7, 0), 14)
    losses.entered((7, 0), 15)
    losses.entered((8, 0), 5)
    assert losses.counts() == {7: 3}


def test_no_more_than_the_gap_has_room_for() -> None:
    losses = Losses()
    losses.gap(2 * LEAST_MESSAGE_BYTES, {(7, 0): 0})
    losses.entered((7, 0), 500)
    losses.entered((9, 0), 500)  # never seen before
    assert losses.counts() == {7: 2, 9: 2}


def test_what_is_acked_later_is_not_lost() -> None:
    losses = Losses()
    losses.gap(PLENTY, {(7, 0): 10})
    losses.entered((7, 0), 20)
    losses.acked(7, 0, 11)
    losses.acked(7, 14, 15)
    losses.acked(8, 0, 100)
    assert losses.counts() == {7: 6}
    losses.acked(7, 12, 100)
    assert losses.counts() == {}


def test_what_is_reported_missing_twice_is_lost_once() -> None:
    losses = Losses()
    losses.missing(7, 2, 5)
    losses.missing(7, 4, 8)
    assert losses.counts() == {7: 7}


def test_sequences_of_another_run_say_nothing() -> None:
    losses = Losses()
    losses.gap(PLENTY, {(7, 0): first_sequence(3) + 5})
    losses.end_of_run()
    losses.entered((7, 0), first_sequence(4) + 9)
    assert losses.counts() == {}
    losses.gap(PLENTY, {(7, 0): first_sequence(3) + 5})
    losses.entered((7, 0), first_sequence(4) + 9)
    assert losses.counts() == {7: 9}


def test_levels_are_counted_apart_and_two_gaps_together() -> None:
    losses = Losses()
    losses.gap(PLENTY, {(7, 0): 3, (7, 5): first_sequence(1, 5)})
    losses.entered((7, 5), first_sequence(1, 5) + 2)
    losses.gap(PLENTY, {(7, 0): 3, (7, 5): first_sequence(1, 5) + 3})
    losses.entered((7, 0), 4)
    losses.entered((7, 5), first_sequence(1, 5) + 4)
    assert losses.counts() == {7: 2 + 1 + 1}
