from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.events import BitRot, DeathNote, RemovalKind, Settlement
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import OrderChecker, Violation

PUBLISHER = 9
PLANS = (
    QueuePlan("q"),
    QueuePlan("dead"),
    QueuePlan("levels", max_priority=3),
    QueuePlan("timed", ttl_ms=100),
)
DEATH = DeathNote("q", "rejected", 1)


@pytest.fixture
def told(script: Any) -> Any:
    told = script(OrderChecker({plan.name: plan for plan in PLANS}))
    for number in range(1, 10):
        told.publish(number, session=PUBLISHER)
    return told


def test_new_messages_come_in_order(told: Any) -> None:
    told.deliver(1)
    told.deliver(3)
    told.deliver(2, session=2)
    with pytest.raises(Violation, match="message 2 came from 'q' after 3"):
        told.deliver(2)


def test_publishers_have_no_order_among_them(told: Any) -> None:
    told.publish(20, session=8)
    told.deliver(20)
    told.deliver(1)


def test_redelivered_ones_may_come_late_to_one_of_many(told: Any) -> None:
    told.deliver(3)
    told.deliver(1, redelivered=True)


def test_dead_letters_have_the_order_of_rejects(told: Any) -> None:
    told.settle(told.deliver(2, "dead", alone=True, history=[DEATH]), Settlement.REQUEUE)
    told.deliver(1, "dead", alone=True, history=[DEATH])


def test_alone_everything_comes_in_order(told: Any) -> None:
    told.deliver(1, alone=True, redelivered=True)
    told.deliver(3, alone=True)
    with pytest.raises(Violation):
        told.deliver(2, alone=True, redelivered=True)


def test_but_for_what_the_consumer_requeued_itself(told: Any) -> None:
    first = told.deliver(1, alone=True)
    told.deliver(2, alone=True)
    told.settle(first, Settlement.REQUEUE)
    told.deliver(1, alone=True, redelivered=True)
    with pytest.raises(Violation):
        told.deliver(1, alone=True, redelivered=True)


def test_a_requeued_message_is_first_once_that_is_known_to_be_handled(told: Any) -> None:
    first = told.deliver(1, alone=True)
    told.settle(first, Settlement.REQUEUE)
    told.deliver(2, alone=True)  # It was on its way.
    told.confirm(30)
    with pytest.raises(Violation, match="message 3 came from 'q' before 1"):
        told.deliver(3, alone=True)


def test_after_it_came_the_others_go_on(told: Any) -> None:
    told.settle(told.deliver(1, alone=True), Settlement.REQUEUE)
    told.confirm(30)
    told.deliver(1, alone=True, redelivered=True)
    told.deliver(2, alone=True)


def test_a_session_ends_with_all_it_knew(told: Any) -> None:
    told.deliver(3, alone=True)
    told.checker.session_ended(1)
    told.deliver(2, alone=True, redelivered=True)


def test_each_priority_has_an_order_of_its_own(told: Any) -> None:
    for number, priority in ((11, 0), (12, 9), (13, 3)):
        told.publish(number, priority=priority)
    told.deliver(12, "levels", alone=True)
    told.deliver(11, "levels", alone=True)
    told.deliver(13, "levels", alone=True)
    with pytest.raises(Violation, match="message 12 came from 'levels' after 13"):
        told.deliver(12, "levels", alone=True)


def test_a_requeued_one_comes_before_all_of_a_lower_priority(told: Any) -> None:
    told.publish(11, priority=2, session=7)
    told.settle(told.deliver(11, "levels", alone=True), Settlement.REQUEUE)
    told.confirm(30)
    with pytest.raises(Violation, match="message 1 came from 'levels' before 11"):
        told.deliver(1, "levels", alone=True)


def test_what_may_leave_by_itself_is_not_waited_for(told: Any) -> None:
    told.settle(told.deliver(1, "timed", alone=True), Settlement.REQUEUE)
    told.confirm(30)
    told.deliver(2, "timed", alone=True)


@pytest.mark.parametrize("requeued", ["before", "meanwhile", "after"])
def test_what_was_removed_is_not_waited_for(told: Any, requeued: str) -> None:
    delivery = told.deliver(1, alone=True)
    if requeued == "before":
        told.settle(delivery, Settlement.REQUEUE)
    removal = told.remove(RemovalKind.DELETE, "q", delivery)
    if requeued == "meanwhile":
        told.settle(delivery, Settlement.REQUEUE)
    told.removed(removal)
    if requeued == "after":
        told.settle(delivery, Settlement.REQUEUE)
    told.confirm(30)
    told.deliver(2, alone=True)


@pytest.mark.parametrize("when", ["before", "requeued", "confirmed"])
def test_what_may_be_lost_by_damage_is_not_waited_for(told: Any, when: str) -> None:
    rot = BitRot("file", (1,), speaks=False, defines=False, stamp=9)
    delivery = told.deliver(1, alone=True)
    if when == "before":
        told.checker.bit_flipped(rot)
    told.settle(delivery, Settlement.REQUEUE)
    if when == "requeued":
        told.checker.bit_flipped(rot)
    told.confirm(30)
    if when == "confirmed":
        told.checker.bit_flipped(rot)
    told.deliver(2, alone=True)
