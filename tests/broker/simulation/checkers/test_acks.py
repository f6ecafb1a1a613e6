from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.checkers import AckChecker, Violation
from reference_broker.simulation.events import Settlement


@pytest.fixture
def told(script: Any) -> Any:
    return script(AckChecker())


@pytest.mark.parametrize("how", [Settlement.ACK, Settlement.REJECT])
def test_a_synced_ack_never_comes_back(told: Any, how: Settlement) -> None:
    told.settle(told.deliver(1), how)
    told.confirm(2)
    told.deliver(1, "another queue")
    with pytest.raises(Violation, match="message 1 is in 'q' again"):
        told.checker.recovered({"q": [1]})
    with pytest.raises(Violation, match="message 1 was delivered from 'q' again"):
        told.deliver(1, redelivered=True)


def test_what_the_broker_had_sent_before_may_still_arrive(told: Any) -> None:
    told.settle(told.deliver(1, sent=5))
    told.confirm(2)
    told.deliver(1, session=2, sent=4)
    with pytest.raises(Violation):
        told.deliver(1, session=2, sent=6)


def test_an_unsynced_ack_may_come_back(told: Any) -> None:
    before = told.publish(2)
    told.settle(told.deliver(1))
    told.checker.confirmed(before)
    told.confirm(3, persistent=False)
    told.confirm(4, session=2)
    told.checker.recovered({"q": [1]})
    told.deliver(1, redelivered=True)


def test_a_requeue_is_not_the_end(told: Any) -> None:
    told.settle(told.deliver(1), Settlement.REQUEUE)
    told.confirm(2)
    told.deliver(1, redelivered=True)


def test_sessions_are_forgotten_and_their_synced_acks_are_not(told: Any) -> None:
    told.settle(told.deliver(1))
    told.confirm(2)
    told.checker.session_ended(1)
    with pytest.raises(Violation):
        told.checker.recovered({"q": [1]})
