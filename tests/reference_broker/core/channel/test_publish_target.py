"""The number of resolved targets that are remembered, by one channel and by all of them."""

from __future__ import annotations

from sys import getrefcount

import pytest

from mqkit.wire.methods import ChannelClose, ChannelOpen, QueueDeclare, QueueDelete, TxSelect
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


def test_what_is_remembered_is_accounted(lone: LoneBroker) -> None:
    client = lone.client()
    publish(client, 100)
    some = lone.broker.targets.held_bytes
    publish(client, 100)
    assert lone.broker.targets.held_bytes == some > 100 * 250
    publish(client, 200)
    assert lone.broker.targets.held_bytes > 1.9 * some
    client.disconnect()
    assert lone.broker.targets.held_bytes == 0


def test_void_targets_go_with_the_next_one_that_is_remembered(lone: LoneBroker) -> None:
    client = lone.client()
    publish(client, 100)
    client.send(1, QueueDeclare("q"))
    client.publish("key 7")
    assert remembered(client) == 100, "it was looked up again"
    client.publish("q")
    assert remembered(client) == 1


def test_void_targets_of_a_channel_that_publishes_no_more_go_after_a_while(
    lone: LoneBroker,
) -> None:
    client, other = lone.client(), lone.client()
    for each in (client, other):
        each.send(1, QueueDeclare("q"))
        publish(each, 10)
    client.publish("q")
    queue = lone.broker.vhosts["/"].queues["q"]
    held = getrefcount(queue)
    other.send(1, QueueDelete("q"))
    publish(other, 12)
    assert remembered(client) == 11
    lone.pass_time(publish_target.LOOK_S)
    assert (remembered(client), remembered(other)) == (0, 2)
    assert getrefcount(queue) == 2 < held, "nobody else holds what is deleted"
    other.disconnect()
    lone.pass_time(publish_target.LOOK_S)
    assert len(lone.broker.timers) == 0, "nobody is looked at"
