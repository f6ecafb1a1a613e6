from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot, Copy, DeathNote, Settlement
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import Violation, XDeathChecker

PLANS = (
    QueuePlan("q", dead_letters_to="dead", ttl_ms=50, max_length=2),
    QueuePlan("dead"),
    QueuePlan("again", dead_letters_to="wait", retries=True),
    QueuePlan("wait", dead_letters_to="again", ttl_ms=10, waits=True),
)
LATE = 1_000


@pytest.fixture
def told(script: Any) -> Any:
    told = script(XDeathChecker({plan.name: plan for plan in PLANS}, SimulatedClock()))
    told.publish(1, "q")
    told.publish(2, "again")
    return told


def reject(told: Any, number: int, queue: str, history: list[DeathNote]) -> None:
    told.settle(told.deliver(number, queue, history=history), Settlement.REJECT)


def rounds(rejected: int, expired: int) -> list[DeathNote]:
    notes = [DeathNote("wait", "expired", expired), DeathNote("again", "rejected", rejected)]
    return [note for note in notes if note.times]


def test_the_truth_is_accepted(told: Any) -> None:
    reject(told, 1, "q", [])
    told.deliver(1, "dead", history=[DeathNote("q", "rejected", 1)])
    told.deliver(1, "dead", history=[DeathNote("q", "maxlen", 1)])
    told.deliver(1, "dead", history=[DeathNote("q", "expired", 1)], sent=LATE)


@pytest.mark.parametrize(
    ("note", "why"),
    [
        (DeathNote("q", "rejected", 1), "rejected 0 times"),
        (DeathNote("q", "expired", 1), "had not expired"),
        (DeathNote("q", "maxlen", 2), "only once"),
        (DeathNote("q", "maxlen", 0), "counts from one"),
        (DeathNote("q", "boredom", 1), "no reason"),
        (DeathNote("again", "maxlen", 1), "nothing leads there"),
    ],
)
def test_a_wrong_note_is_found(told: Any, note: DeathNote, why: str) -> None:
    with pytest.raises(Violation, match=why):
        told.deliver(1, "dead", history=[note])


def test_a_message_comes_from_where_it_was_published_or_died(told: Any) -> None:
    with pytest.raises(Violation, match="never published there"):
        told.deliver(1, "dead")


def test_where_it_goes_round_the_counts_rise_together(told: Any) -> None:
    reject(told, 2, "again", [])
    told.stamp = LATE
    told.deliver(2, "again", history=rounds(1, 1))
    with pytest.raises(Violation, match="waited 1 times"):
        told.deliver(2, "again", history=rounds(1, 2))


def test_what_was_rejected_again_has_died_again(told: Any) -> None:
    reject(told, 2, "again", [])
    told.stamp = LATE
    reject(told, 2, "again", rounds(1, 1))
    told.deliver(2, "again", history=rounds(2, 2))
    with pytest.raises(Violation, match="rejected with 2 deaths before"):
        told.deliver(2, "again", history=rounds(1, 1))


def test_a_crash_may_undo_a_rejection(told: Any) -> None:
    reject(told, 2, "again", [])
    told.stamp = LATE
    reject(told, 2, "again", rounds(1, 1))
    told.start()
    told.deliver(2, "again", history=rounds(1, 1))


def test_the_first_and_last_death_are_told_apart(told: Any) -> None:
    history = (DeathNote("q", "maxlen", 1),)
    delivery = told.deliver(1, "dead", history=history)
    for first, last in ((("dead", "maxlen"), ("q", "maxlen")), (("q", "maxlen"), None)):
        delivery.first_death, delivery.last_death = first, last
        with pytest.raises(Violation, match="death was"):
            told.checker.delivered(delivery)


def test_it_is_in_one_place_unless_the_way_was_damaged(told: Any) -> None:
    dead = Copy(1, (DeathNote("q", "maxlen", 1),))
    told.start(q=[1], dead=[5])
    with pytest.raises(Violation, match="message 1 is in 'q' and in 'dead'"):
        told.start(q=[1], dead=[dead])
    told.checker.bit_flipped(BitRot("file", (), True, False, 1))
    told.start(q=[1], dead=[dead])


def test_a_start_shows_counts_too(told: Any) -> None:
    told.start(wait=[Copy(2, (DeathNote("again", "rejected", 1),))])
    with pytest.raises(Violation, match="waited 0 times"):
        told.start(wait=[Copy(2, tuple(rounds(1, 1)))])
