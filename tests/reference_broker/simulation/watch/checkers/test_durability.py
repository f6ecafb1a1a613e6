from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import RemovalKind, Settlement
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import DurabilityChecker, Violation

PLANS = (QueuePlan("q", dead_letters_to="dead"), QueuePlan("dead"), QueuePlan("other"))


@pytest.fixture
def told(script: Any) -> Any:
    return script(DurabilityChecker({plan.name: plan for plan in PLANS}, SimulatedClock()))


def test_a_confirmed_message_must_be_there_after_a_start(told: Any) -> None:
    told.confirm(1)
    told.confirm(2)
    told.start(q=[1, 2])
    with pytest.raises(Violation, match=r"1 confirmed messages are gone.*2 in 'q'") as violation:
        told.start(q=[1])
    assert violation.value.lost == 1


def test_it_must_be_in_each_of_its_queues(told: Any) -> None:
    told.confirm(1, "q", "other")
    with pytest.raises(Violation, match="in 'other'"):
        told.start(q=[1])


def test_what_was_not_confirmed_or_not_persistent_may_be_lost(told: Any) -> None:
    told.publish(1)
    told.confirm(2, persistent=False)
    told.start()
    told.checker.drained({}, told.stamp)


@pytest.mark.parametrize("confirmed_first", [True, False])
def test_a_settlement_that_was_sent_ends_it(told: Any, confirmed_first: bool) -> None:
    message = told.publish(1, "other")
    if confirmed_first:
        told.confirmed(message)
    told.settle(told.deliver(1, "other"), Settlement.REJECT)
    if not confirmed_first:
        told.confirmed(message)
    told.start()


def test_a_requeue_does_not(told: Any) -> None:
    told.confirm(1)
    told.settle(told.deliver(1), Settlement.REQUEUE)
    with pytest.raises(Violation):
        told.start()


def test_a_dead_letter_is_here_or_there_or_settled_there(told: Any) -> None:
    told.confirm(1)
    told.settle(told.deliver(1), Settlement.REJECT)
    told.start(q=[1])
    told.start(dead=[1])
    with pytest.raises(Violation):
        told.start()
    told.settle(told.deliver(1, "dead"))
    told.start()


def test_what_nobody_got_by_the_end_is_lost(told: Any) -> None:
    told.confirm(1)
    with pytest.raises(Violation, match="after everything was consumed"):
        told.checker.drained({}, told.stamp)


def test_what_is_gone_is_counted_by_what_became_of_it(told: Any) -> None:
    for number in range(1, 5):
        told.confirm(number, "other")
    told.settle(told.deliver(1, "other"))
    told.settle(told.deliver(2, "other", no_ack=True), Settlement.AUTO)
    told.checker.sent_blindly("other", 3)
    told.remove(RemovalKind.DELETE, "other")
    told.checker.drained({}, told.stamp)
    assert told.checker.gone == {"settled": 1, "auto-acked": 2, "deleted": 1}


def test_what_the_broker_counted_before_a_crash_counts(told: Any) -> None:
    told.confirm(1, "other")
    told.removed(told.remove(RemovalKind.PURGE, "other"))
    told.checker.life_ended({"other": Counter(purged=1)})
    told.start()
    told.checker.drained({}, told.stamp)
    assert told.checker.gone == {"purged": 1}
