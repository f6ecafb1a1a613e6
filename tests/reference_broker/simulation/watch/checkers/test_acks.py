from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.events import BitRot, RemovalKind, Settlement
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import AckChecker, Violation

PLANS = (
    QueuePlan("q"),
    QueuePlan("fleeting", durable=False),
    QueuePlan("purged", owner=1, purged=True),
    QueuePlan("deleted", owner=1, disposable=True),
)


@pytest.fixture
def told(script: Any) -> Any:
    return script(AckChecker({plan.name: plan for plan in PLANS}))


@pytest.mark.parametrize("how", [Settlement.ACK, Settlement.REJECT])
def test_a_synced_ack_never_comes_back(told: Any, how: Settlement) -> None:
    told.settle(told.deliver(1), how)
    told.confirm(2)
    told.deliver(1, "another queue")
    with pytest.raises(Violation, match="message 1 is in 'q' again"):
        told.start(q=[1])
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
    told.confirmed(before)
    told.confirm(3, persistent=False)
    told.confirm(4, session=2)
    told.confirm(5, "fleeting")
    told.start(q=[1])
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
        told.start(q=[1])


def test_what_needed_no_ack_is_gone_when_a_later_publish_is_synced(told: Any) -> None:
    told.settle(told.deliver(1, no_ack=True), Settlement.AUTO)
    told.confirm(2)
    with pytest.raises(Violation):
        told.start(q=[1])


def test_what_was_purged_is_gone_but_for_what_was_held(told: Any) -> None:
    for number in (1, 2):
        told.confirm(number, "purged")
    held = told.deliver(1, "purged")
    removal = told.remove(RemovalKind.PURGE, "purged", held)
    told.confirm(3, "purged")
    told.start(purged=[1, 2, 3])
    told.removed(removal)
    told.start(purged=[1, 3])
    with pytest.raises(Violation, match="message 2 is in 'purged' again"):
        told.start(purged=[1, 2, 3])


def test_what_was_deleted_is_gone_whoever_held_it(told: Any) -> None:
    told.confirm(1, "deleted")
    held = told.deliver(1, "deleted")
    told.removed(told.remove(RemovalKind.DELETE, "deleted", held))
    told.confirm(2, "deleted")
    told.deliver(1, "deleted", sent=held.sent)  # It was on its way.
    with pytest.raises(Violation, match="message 1 is in 'deleted' again"):
        told.start(deleted=[1, 2])


@pytest.mark.parametrize(
    ("numbers", "speaks", "forgiven"), [((), True, True), ((7,), True, True), ((7,), False, False)]
)
def test_an_ack_may_have_stood_where_a_bit_was_flipped(
    told: Any, numbers: tuple[int, ...], speaks: bool, forgiven: bool
) -> None:
    told.settle(told.deliver(1))
    told.confirm(2)
    told.checker.bit_flipped(BitRot("file", numbers, speaks, False, told.stamp))
    if forgiven:
        told.start(q=[1])
    else:
        with pytest.raises(Violation):
            told.start(q=[1])
