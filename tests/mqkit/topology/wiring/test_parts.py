"""Tiers, lots and delays: as a file makes them, and as their names tell."""

from __future__ import annotations

from mqkit.retry import RetryPolicy, Then
from mqkit.topology import ExchangeModel, QueueModel, Topology
from mqkit.topology.wiring.parts import Part, Role, parts_by_name, parts_in_file

TOPOLOGY = Topology(
    (ExchangeModel("x", delays=(60_000, 1_000)),),
    (
        QueueModel("q", retry=RetryPolicy.of("5s", "1m")),
        QueueModel("drops", retry=RetryPolicy.of("1s", then=Then.DROP)),
        QueueModel("plain", message_ttl_ms=5),
    ),
)


def test_a_file_names_its_parts() -> None:
    assert parts_in_file(TOPOLOGY) == {
        "x.delay.1s": Part(Role.DELAY, "x", 1_000),
        "x.delay.1m": Part(Role.DELAY, "x", 60_000),
        "q.parked": Part(Role.LOT, "q"),
        "q.retry.5s": Part(Role.TIER, "q", 5_000),
        "q.retry.1m": Part(Role.TIER, "q", 60_000),
        "drops.retry.1s": Part(Role.TIER, "drops", 1_000),
    }


def test_a_file_names_parts_that_were_there_before() -> None:
    policy = RetryPolicy.of("5s", "1m", park="dlq", tiers="wait-{after}")
    assert parts_in_file(Topology(queues=(QueueModel("q", retry=policy), QueueModel("dlq")))) == {
        "dlq": Part(Role.LOT, "q"),
        "wait-5s": Part(Role.TIER, "q", 5_000),
        "wait-1m": Part(Role.TIER, "q", 60_000),
    }


def test_names_tell_the_same_of_a_broker() -> None:
    declared = parts_in_file(TOPOLOGY)
    assert parts_by_name([*declared, "plain", "q"]) == declared
