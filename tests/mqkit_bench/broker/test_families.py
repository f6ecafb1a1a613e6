"""mqkit_bench.broker.families: the same job, with so many of something."""

from __future__ import annotations

import pytest

from mqkit_bench.broker import families


@pytest.mark.parametrize("count", [1, 7, 10, 25, 1000])
def test_every_queue_has_one_consumer(count: int) -> None:
    scenario = families.queues(count, 10)
    consumed = [queue for each in scenario.subscriptions for queue in each.queues]
    assert sorted(consumed) == sorted(queue.name for queue in scenario.topology.queues)
    assert len(consumed) == len(scenario.messages) == count


@pytest.mark.parametrize(
    ("count", "connections"), [(1, 1), (30, 30), (1_000, 1_000), (5_000, 1_000)]
)
def test_consumers_share_connections(count: int, connections: int) -> None:
    crowd = families.consumer_crowd(count)
    assert len(crowd) == connections
    assert sum(len(each.consumer_tags) for each in crowd) == count


def test_each_message_has_a_binding_of_its_own() -> None:
    scenario = families.bindings(30, 10)
    bindings = [each.routing_key for each in scenario.topology.bindings]
    assert len(set(bindings)) == 30
    assert {pattern.count("*") + pattern.count("#") for pattern in bindings} == {0, 1, 2}
    assert len({message.routing_key for message in scenario.messages}) == 30


def test_busy_connections_share_a_window() -> None:
    for count in (1, 10, 100):
        scenario = families.connections(count, 10)
        assert scenario.publishers == len(scenario.subscriptions) == count
        assert scenario.publishers * scenario.window <= 2 * families.WINDOW
