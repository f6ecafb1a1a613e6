from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.events import DeathNote
from reference_broker.simulation.watch.checkers import RedeliveredChecker, Violation


@pytest.fixture
def told(script: Any) -> Any:
    return script(RedeliveredChecker())


def test_the_second_time_must_be_marked(told: Any) -> None:
    told.deliver(1)
    told.deliver(1, redelivered=True)
    told.deliver(1, "other")
    told.deliver(2)
    with pytest.raises(Violation, match="message 1 came from 'q' a second time as new"):
        told.deliver(1, session=2)


def test_the_first_may_arrive_after_the_second(told: Any) -> None:
    told.deliver(1, redelivered=True, sent=7)
    told.deliver(1, session=2, sent=3)


def test_two_as_new_are_wrong_in_either_order(told: Any) -> None:
    told.deliver(1, sent=7)
    with pytest.raises(Violation):
        told.deliver(1, session=2, sent=3)


def test_a_first_time_may_be_marked(told: Any) -> None:
    told.deliver(1, redelivered=True)


def test_each_death_makes_another_entry(told: Any) -> None:
    told.deliver(1)
    told.deliver(1, history=[DeathNote("q", "rejected", 1), DeathNote("wait", "expired", 1)])
    told.deliver(1, history=[DeathNote("q", "rejected", 2), DeathNote("wait", "expired", 2)])
    with pytest.raises(Violation):
        told.deliver(1, history=[DeathNote("q", "rejected", 1), DeathNote("wait", "expired", 1)])


def test_a_dead_letter_is_marked_after_a_start_too(told: Any) -> None:
    death = DeathNote("q", "rejected", 1)
    told.deliver(1, "dead", history=[death])
    told.start()
    with pytest.raises(Violation, match="message 1"):
        told.deliver(1, "dead", history=[death])
