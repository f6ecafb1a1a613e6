"""mqkit_bench.broker.scenario: what follows from what is said."""

from __future__ import annotations

from mqkit_bench.broker.families import one_queue
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.scenario import Scenario, Subscription
from mqkit_bench.broker.topology import Queue, Topology


def test_each_consumer_has_a_tag_of_one_length() -> None:
    tags = Subscription(("a", "b"), consumers_per_queue=600).consumer_tags
    assert [queue for queue, _ in tags] == ["a"] * 600 + ["b"] * 600
    assert len({tag for _, tag in tags}) == 1200
    assert len({len(tag) for _, tag in tags}) == 1


def test_only_one_queue_without_arguments_is_plain() -> None:
    assert one_queue("plain", 10).is_plain
    assert not one_queue("two", 10, idle=[Subscription(("other",))]).is_plain
    queue = Queue("q", arguments={"x-max-priority": 2})
    message = Message(routing_key="q", body_bytes=3)
    alone = Scenario(name="p", topology=Topology((queue,)), messages=(message,), subscriptions=())
    assert not alone.is_plain
    assert alone.is_one_way
    assert alone.body_bytes == 3
    assert alone.publish_bytes == len(message.publish_frames())
