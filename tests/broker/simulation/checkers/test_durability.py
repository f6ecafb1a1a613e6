from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.checkers import DurabilityChecker, Violation
from reference_broker.simulation.events import Settlement


@pytest.fixture
def told(script: Any) -> Any:
    return script(DurabilityChecker({"q": "dead"}))


def test_a_confirmed_message_must_be_there_after_a_start(told: Any) -> None:
    told.confirm(1)
    told.confirm(2)
    told.checker.recovered({"q": [1, 2]})
    with pytest.raises(Violation, match=r"1 confirmed messages are gone.*2 in 'q'") as violation:
        told.checker.recovered({"q": [1]})
    assert violation.value.lost == 1


def test_it_must_be_in_each_of_its_queues(told: Any) -> None:
    told.confirm(1, "q", "other")
    with pytest.raises(Violation, match="in 'other'"):
        told.checker.recovered({"q": [1]})


def test_what_was_not_confirmed_or_not_persistent_may_be_lost(told: Any) -> None:
    told.publish(1)
    told.confirm(2, persistent=False)
    told.checker.recovered({})
    told.checker.drained()


@pytest.mark.parametrize("confirmed_first", [True, False])
def test_a_settlement_that_was_sent_ends_it(told: Any, confirmed_first: bool) -> None:
    message = told.publish(1, "other")
    if confirmed_first:
        told.checker.confirmed(message)
    told.settle(told.deliver(1, "other"), Settlement.REJECT)
    if not confirmed_first:
        told.checker.confirmed(message)
    told.checker.recovered({})


def test_a_requeue_does_not(told: Any) -> None:
    told.confirm(1)
    told.settle(told.deliver(1), Settlement.REQUEUE)
    with pytest.raises(Violation):
        told.checker.recovered({})


def test_a_dead_letter_is_here_or_there_or_settled_there(told: Any) -> None:
    told.confirm(1)
    told.settle(told.deliver(1), Settlement.REJECT)
    told.checker.recovered({"q": [1]})
    told.checker.recovered({"dead": [1]})
    with pytest.raises(Violation):
        told.checker.recovered({})
    told.settle(told.deliver(1, "dead"))
    told.checker.recovered({})


def test_what_nobody_got_by_the_end_is_lost(told: Any) -> None:
    told.confirm(1)
    with pytest.raises(Violation, match="after everything was consumed"):
        told.checker.drained()
