"""The words about a retry queue that lives on per-message TTLs."""

from __future__ import annotations

import pytest

from mqkit.declaration import Declaration, Exchange, Queue
from mqkit.errors import ChannelError
from mqkit.retry import compile_tier
from mqkit.topology import Snapshot, plan
from mqkit.topology.planning.quarantine import Quarantined
from mqkit.topology.retrying.per_message_ttl import WHY, hint

TIER = compile_tier("q", 10_000)


def test_a_tier_that_is_there_without_a_ttl_is_explained() -> None:
    assert hint(TIER, {"x-message-ttl": None}).endswith(WHY)


@pytest.mark.parametrize(
    ("wanted", "differing"),
    [
        (TIER, {}),
        (TIER, {"durable": False}),
        (TIER, {"x-message-ttl": 5}),
        (Queue("q", arguments={"x-message-ttl": 5}), {"x-message-ttl": None}),
        (Exchange("x"), {"x-message-ttl": None}),
    ],
)
def test_other_differences_speak_for_themselves(
    wanted: Declaration, differing: dict[str, object]
) -> None:
    assert hint(wanted, differing) == ""


def test_a_refusal_of_the_broker_says_it() -> None:
    reply = (
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q.retry.10s' in vhost"
        " '/': received the value '10000' of type 'signedint' but current is none"
    )
    assert Quarantined.of(TIER, ChannelError(406, reply)).hint.endswith(WHY)
    assert Quarantined.of(TIER, ChannelError(405, "RESOURCE_LOCKED")).hint == ""


def test_a_plan_says_it() -> None:
    arguments = {**TIER.arguments}
    del arguments["x-message-ttl"]
    live = Snapshot.of("/", (Queue(TIER.name, arguments=arguments),))
    (step,) = plan([TIER], live).changes
    assert step.reason.endswith(WHY)
