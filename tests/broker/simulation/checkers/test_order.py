from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.checkers import OrderChecker, Violation
from reference_broker.simulation.events import Settlement

PUBLISHER = 9


@pytest.fixture
def told(script: Any) -> Any:
    told = script(OrderChecker({"q": "dead"}))
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
    told.settle(told.deliver(2, "dead", alone=True), Settlement.REQUEUE)
    told.deliver(1, "dead", alone=True)


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
