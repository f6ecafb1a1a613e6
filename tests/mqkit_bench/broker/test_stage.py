"""mqkit_bench.broker.stage: every kind of scenario, small, on either broker: all is counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import closing

import pytest

from mqkit_bench.broker import catalogue, families
from mqkit_bench.broker import traffic as traffic_module
from mqkit_bench.broker.contest import play
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.stage import stage
from mqkit_bench.broker.topology import Queue
from mqkit_bench.contestant import Contestant
from mqkit_bench.filler import fill
from mqkit_bench.report import Discrepancy
from mqkit_bench.ring import Ring
from mqkit_bench.session import Session

SMALL = (
    catalogue.persistent(100),
    catalogue.transient(0),
    catalogue.auto_ack(16),
    catalogue.publish_only(100),
    catalogue.ten_to_ten(100),
    catalogue.ten_queues(100),
    catalogue.fan_out(100),
    catalogue.priority(100),
    catalogue.expiry(100),
    families.queues(25, 100),
    families.bindings(30, 100),
    families.consumers(40, 100),
    families.idle_consumers(10, 100),
    families.idle_connections(5, 100),
    families.depth(5000, 100),
)


@pytest.mark.parametrize("scenario", SMALL, ids=lambda scenario: scenario.name)
def test_two_rounds_add_up(contestant: Contestant, scenario: Scenario) -> None:
    """The stage itself compares what was sent with what is left."""
    with stage(contestant, scenario) as staged:
        traffic = staged.traffic
        first, second = play(staged, 0.05), play(staged, 0.05)
        learned = 1 if scenario.changed_on_the_way else 0
        assert traffic.sent == first.messages + second.messages + learned
        assert traffic.confirmed == (traffic.sent if scenario.confirms else 0)
        awaited = 0 if scenario.is_one_way else traffic.sent * scenario.copies
        acking = [each for each in scenario.subscriptions if each.ack_every]
        assert traffic.acked == (awaited if acking else 0)
        assert traffic.received >= awaited
        assert first.broker_cpu_us is None, "the kernel's account is not asked for process 0"


def test_nothing_is_left(contestant: Contestant) -> None:
    scenario = catalogue.fan_out(10)
    with stage(contestant, scenario) as staged:
        play(staged, 0.01)
    with (
        closing(Session(contestant.address)) as session,
        pytest.raises(ConnectionError, match="no queue"),
    ):
        scenario.topology.ready(session)


def test_what_nobody_was_told_of_is_a_discrepancy(contestant: Contestant) -> None:
    """Messages of another publisher stay behind in a queue that nobody reads."""
    scenario = families.one_queue("test", 10)
    unread = Queue("bench.test.unread")
    topology = dataclasses.replace(scenario.topology, queues=(*scenario.topology.queues, unread))
    scenario = dataclasses.replace(scenario, topology=topology)
    with (
        pytest.raises(Discrepancy, match="0 messages should be left, not 7"),
        stage(contestant, scenario) as staged,
    ):
        play(staged, 0.01)
        fill(contestant, Ring.round_robin([unread.name], 10), 7, lambda _: None)


def test_a_purge_counts(contestant: Contestant, unique: Callable[[str], str]) -> None:
    """A message of somebody else in the queue that is purged."""
    scenario = catalogue.publish_only(10)
    with stage(contestant, scenario) as staged:
        fill(contestant, Ring.round_robin([scenario.topology.queues[0].name], 10), 1, print)
        with pytest.raises(Discrepancy, match=r"confirmed, [0-9,]+ purged"):
            play(staged, 0.01)


def test_an_ack_too_many_ends_the_run(
    contestant: Contestant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker closes the channel, and the bytes of that are no message."""
    monkeypatch.setattr(traffic_module, "STALL_S", 0.5)
    scenario = families.one_queue("test", 10)
    with pytest.raises((Discrepancy, ConnectionError)), stage(contestant, scenario) as staged:
        staged.traffic.receivers[0].ack(1000)
        play(staged, 0.05)
