from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import DeathNote
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import ExpiryChecker, Violation


@pytest.fixture
def told(script: Any) -> Any:
    return script(
        ExpiryChecker(
            {"q": QueuePlan("q", ttl_ms=50), "plain": QueuePlan("plain")}, SimulatedClock()
        )
    )


def test_what_was_there_for_longer_than_its_time_may_not_come(told: Any) -> None:
    told.confirm(1)
    told.deliver(1, sent=told.stamp + 50)
    with pytest.raises(Violation, match="message 1 with a TTL of 50 ms"):
        told.deliver(1, sent=told.stamp + 60)


def test_a_message_may_have_a_time_of_its_own(told: Any) -> None:
    told.confirmed(told.publish(1, "plain", expiration_ms=10))
    with pytest.raises(Violation):
        told.deliver(1, "plain", sent=told.stamp + 20)


def test_its_time_runs_from_when_it_is_known_to_be_there(told: Any) -> None:
    told.publish(1)
    told.stamp += 1_000
    told.deliver(1)
    told.stamp += 49
    told.deliver(1, redelivered=True)
    with pytest.raises(Violation):
        told.deliver(1, redelivered=True, sent=told.stamp + 60)


def test_each_queue_has_it_from_another_time_on_before_it_is_confirmed(told: Any) -> None:
    message = told.publish(1, "q", "plain", expiration_ms=10)
    told.deliver(1, "plain")
    told.stamp += 20
    told.deliver(1)
    told.confirmed(message)
    with pytest.raises(Violation):
        told.deliver(1, sent=told.stamp + 60)


def test_a_confirmed_message_is_in_all_of_its_queues(told: Any) -> None:
    told.confirm(1, "plain", "q")
    with pytest.raises(Violation):
        told.deliver(1, "q", sent=told.stamp + 60)


def test_others_and_dead_letters_have_time(told: Any) -> None:
    told.confirm(1)
    told.confirm(2, "plain")
    told.stamp += 1_000
    told.deliver(2, "plain")
    told.deliver(1, history=[DeathNote("plain", "rejected", 1)])


@pytest.fixture
def told_with_steps(script: Any) -> Any:
    clock = SimulatedClock()
    clock.set_system(1_000)
    clock.set_system(-1_000)
    return script(ExpiryChecker({"q": QueuePlan("q", ttl_ms=50)}, clock))


def test_what_an_earlier_life_took_is_off_by_the_steps_of_the_clock(told_with_steps: Any) -> None:
    told = told_with_steps
    told.publish(1)
    told.start(q=[1])
    told.deliver(1, redelivered=True)  # seen for the first time
    told.deliver(1, redelivered=True, sent=told.stamp + 2_000)
    with pytest.raises(Violation):
        told.deliver(1, redelivered=True, sent=told.stamp + 2_060)


def test_what_this_life_took_is_not(told_with_steps: Any) -> None:
    told = told_with_steps
    told.start()
    told.publish(1)
    told.deliver(1)
    with pytest.raises(Violation):
        told.deliver(1, redelivered=True, sent=told.stamp + 60)
