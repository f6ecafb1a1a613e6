"""The examination: which facts are a fault, and what is told of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.consumer.consumer_states import State as ConsumerState
from mqkit.health.examination import REASONS_MAX, ConsumerFacts, Facts, Limits, examine
from mqkit.health.report import Fault
from mqkit.supervision.states import State

LIMITS = Limits(live_s=10, blocked_s=60, stalled_s=300)
WELL = ConsumerFacts("orders", "pay", ConsumerState.CONSUMING)
READY = Facts(State.READY, consumers=(WELL,))


def faults(facts: Facts) -> list[Fault]:
    return [reason.fault for reason in examine(facts, LIMITS).reasons]


def consumer(**facts: Any) -> Facts:
    return replace(READY, consumers=(replace(WELL, **facts),))


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        (Facts(State.CLOSED), Fault.NOT_RUNNING),
        (Facts(State.CONNECTING), Fault.NOT_CONNECTED),
        (Facts(State.DECLARING), Fault.SETTING_UP),
        (Facts(State.DRAINING), Fault.STOPPING),
        (Facts(State.BLOCKED, blocked_for_s=61), Fault.BLOCKED),
        (Facts(State.READY, refused=(("queue orders", 406),)), Fault.NOT_DECLARED),
        (Facts(State.READY, pulse_age_s=11), Fault.LOOP_BLOCKED),
        (consumer(state=ConsumerState.IDLE), Fault.NOT_CONSUMING),
        (consumer(state=ConsumerState.SUBSCRIBING), Fault.NOT_CONSUMING),
        (consumer(stalled_s=301), Fault.NO_PROGRESS),
        (consumer(stalled_s=751, patience_s=500), Fault.NO_PROGRESS),
    ],
    ids=lambda part: str(part) if isinstance(part, Fault) else "",
)
def test_a_fault_leaves_the_app_not_ready(facts: Facts, fault: Fault) -> None:
    assert faults(facts) == [fault]
    assert not examine(facts, LIMITS).is_ready


@pytest.mark.parametrize(
    "facts",
    [
        READY,
        Facts(State.READY),
        Facts(State.BLOCKED, blocked_for_s=59),
        Facts(State.READY, pulse_age_s=9),
        consumer(state=ConsumerState.PAUSED),
        consumer(state=ConsumerState.STOPPED),
        consumer(stalled_s=299),
        consumer(stalled_s=749, patience_s=500),
    ],
    ids=[
        *("consuming", "no consumers", "blocked for a moment", "a slow turn", "paused"),
        *("stopped", "slow", "as slow as it may be"),
    ],
)
def test_what_is_no_fault(facts: Facts) -> None:
    health = examine(facts, LIMITS)
    assert (health.is_live, health.is_ready, health.reasons) == (True, True, ())


@pytest.mark.parametrize("state", State)
def test_only_a_loop_that_does_not_turn_is_not_live(state: State) -> None:
    runs = state is not State.CLOSED
    assert examine(Facts(state), LIMITS).is_live is runs
    assert examine(Facts(state, pulse_age_s=11), LIMITS).is_live is False


def test_without_a_connection_consumers_are_no_reason_of_their_own() -> None:
    facts = replace(consumer(state=ConsumerState.IDLE), state=State.CONNECTING)
    assert faults(facts) == [Fault.NOT_CONNECTED]


def test_reasons_are_bounded_and_the_others_counted() -> None:
    refused = tuple((f"queue q{number}", 403) for number in range(1000))
    health = examine(replace(READY, refused=refused), LIMITS)
    assert (len(health.reasons), health.more) == (REASONS_MAX, 1000 - REASONS_MAX)
    assert health.to_dict()["more"] == 1000 - REASONS_MAX
    assert health.to_dict()["reasons"][0] == {
        "fault": "not declared",
        "name": "queue q0",
        "text": "queue q0 is not declared: the broker answers 403",
    }
