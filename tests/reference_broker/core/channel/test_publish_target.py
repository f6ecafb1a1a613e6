"""The number of resolved targets that are remembered, by one channel and by all of them."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import ChannelClose, ChannelOpen, QueueDeclare, TxSelect
from reference_broker.core.base.limits import CHANNEL_TARGETS_MAX, SHARED_TARGETS_MAX
from reference_broker.core.channel import publish_target
from reference_broker.testing.lone_broker import LoneBroker, LoneClient


def publish(client: LoneClient, count: int, channel: int = 1) -> None:
    for number in range(count):
        client.publish(f"key {number}", channel=channel)


def remembered(client: LoneClient, channel: int = 1) -> int:
    return len(client.connection.channels[channel].targets)


@pytest.fixture
def lone() -> LoneBroker:
    return LoneBroker()


def test_who_needs_many_has_many(lone: LoneBroker) -> None:
    client = lone.client()
    publish(client, 10_000)
    assert remembered(client) == 10_000
    assert lone.broker.targets.taken == 10_000 - CHANNEL_TARGETS_MAX


def test_all_together_have_a_bound_and_each_keeps_a_few(
    lone: LoneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_target, "SHARED_TARGETS_MAX", 1_000)
    greedy, other = lone.client(), lone.client()
    publish(greedy, CHANNEL_TARGETS_MAX + 1_000)
    assert lone.broker.targets.taken == 1_000
    publish(other, CHANNEL_TARGETS_MAX)
    assert remembered(other) == CHANNEL_TARGETS_MAX
    other.publish("one more")
    assert remembered(other) == 1, "it forgot its own"
    assert lone.broker.targets.taken == 1_000
    greedy.publish("one more")
    assert (remembered(greedy), lone.broker.targets.taken) == (1, 0)


def test_what_is_closed_gives_its_places_back(lone: LoneBroker) -> None:
    client = lone.client()
    client.send(2, ChannelOpen())
    publish(client, 300)
    publish(client, 500, channel=2)
    assert lone.broker.targets.taken == 800 - 2 * CHANNEL_TARGETS_MAX
    client.send(2, ChannelClose(200, "", 0, 0))
    assert lone.broker.targets.taken == 300 - CHANNEL_TARGETS_MAX
    client.disconnect()
    assert lone.broker.targets.taken == 0


def test_a_transactional_channel_begins_anew(lone: LoneBroker) -> None:
    client = lone.client()
    publish(client, 300)
    client.send(1, TxSelect())
    assert (remembered(client), lone.broker.targets.taken) == (0, 0)


def test_a_remembered_route_is_looked_up_again_when_the_topology_changes(lone: LoneBroker) -> None:
    client = lone.client()
    client.publish("q")
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


def test_the_bounds_are_a_bound_on_memory() -> None:
    """Method arguments of at most 2 x 255 octets, and what is made of them."""
    assert SHARED_TARGETS_MAX * 1_600 <= 64 * 2**20
