"""mqkit_bench.broker.catalogue: each scenario is one that bytes can count."""

from __future__ import annotations

import pytest

from mqkit_bench.broker.catalogue import CATALOGUE, Entry


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_all_messages_have_one_length(entry: Entry) -> None:
    for body_bytes in entry.bodies:
        scenario = entry.make(body_bytes)
        assert {message.body_bytes for message in scenario.messages} == {body_bytes}
        assert len({len(m.publish_frames()) for m in scenario.messages}) == 1
        assert len({len(m.delivery_frames("c00000")) for m in scenario.messages}) == 1


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_what_is_used_is_declared(entry: Entry) -> None:
    scenario = entry.make(10)
    queues = {queue.name for queue in scenario.topology.queues}
    exchanges = {"", *(exchange.name for exchange in scenario.topology.exchanges)}
    assert len(queues) == len(scenario.topology.queues)
    assert {queue for each in scenario.subscriptions for queue in each.queues} <= queues
    assert {message.exchange for message in scenario.messages} <= exchanges


def test_the_large_ones_are_large() -> None:
    crowd = CATALOGUE["consumers"].make(10).subscriptions
    assert len(crowd) == 1_000
    assert sum(len(each.consumer_tags) for each in crowd) == 50_000
    assert len(CATALOGUE["topic"].make(10).topology.bindings) == 10_000
    assert len(CATALOGUE["queues"].make(10).topology.queues) == 10_000
    assert CATALOGUE["fan-out"].make(10).copies == 5
