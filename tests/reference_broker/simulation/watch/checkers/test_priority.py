from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.events import BitRot, Copy, DeathNote, RemovalKind
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.checkers import PriorityChecker, Violation

PLANS = {
    "q": QueuePlan("q", owner=0, max_priority=3),
    "shared": QueuePlan("shared", max_priority=3),
    "short": QueuePlan("short", owner=0, max_priority=3, max_length=4),
}


@pytest.fixture
def told(script: Any) -> Any:
    each = script(PriorityChecker(PLANS))
    for number, priority in ((1, 0), (2, 9), (3, 3), (4, 1)):
        each.publish(number, "q", "shared", "short", priority=priority)
    return each


def test_what_the_start_found_comes_by_priority(told: Any) -> None:
    told.start(q=[1, 2, 3, 4])
    told.deliver(3, session=2)
    with pytest.raises(
        Violation, match="message 4 of priority 1 came from 'q' before 2 of priority 3"
    ):
        told.deliver(4, session=2)


def test_levels_above_the_queue_s_are_its_highest(told: Any) -> None:
    told.start(q=[1, 2, 3, 4])
    for number in (3, 2, 4, 1, 1):
        told.deliver(number, session=2)


def test_what_was_sent_before_the_start_says_nothing(told: Any) -> None:
    told.start(q=[1, 2])
    told.deliver(1, sent=told.stamp - 1)


def test_nobody_knows_after(told: Any) -> None:
    told.start(q=[1, 2], shared=[1, 2], short=[1, 2])
    told.deliver(1, "shared")  # others consume, too
    told.deliver(1, "short")  # what is too much leaves by itself
    told.checker.sent_blindly("q", 2)  # it may be lost on its way
    told.deliver(1)
    told.start(q=[1, Copy(2, (DeathNote("q", "rejected", 1),))])
    told.deliver(1)
    told.start(q=[1, 2])
    told.remove(RemovalKind.PURGE, "q")
    told.deliver(1)
    told.start(q=[1, 2])
    told.checker.session_ended(7)
    told.deliver(1)
    told.start(q=[1, 2])
    told.checker.bit_flipped(BitRot("file", (2,), speaks=False, defines=False, stamp=9))
    told.deliver(1)
    told.start(q=[1, 2])
    told.deliver(1)
