from __future__ import annotations

from reference_broker.simulation.watch.hand_outs import HandOuts

ENTRY = ("q", 1, 0)


def test_the_mark_is_wanted_from_the_second_on() -> None:
    seen = HandOuts()
    assert not seen.is_twice_as_new(ENTRY, 5, redelivered=False)
    assert not seen.is_twice_as_new(ENTRY, 6, redelivered=True)
    assert seen.is_twice_as_new(ENTRY, 7, redelivered=False)


def test_what_was_sent_first_may_be_seen_last() -> None:
    seen = HandOuts()
    assert not seen.is_twice_as_new(ENTRY, 6, redelivered=True)
    assert not seen.is_twice_as_new(ENTRY, 5, redelivered=False)
    assert not seen.is_twice_as_new(("other", 1, 0), 7, redelivered=False)
