"""Whose turn it is among consumers."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost

HEADER = encode_header(1, Properties())


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_round_robin_one_message_at_a_time_and_goes_on_where_it_stopped(host: QueueHost) -> None:
    queue = host.declare("q")
    consumers = [LoneConsumer(str(number)) for number in range(3)]
    for consumer in consumers:
        queue.add_consumer(consumer)
    host.publish(queue, *bodies(4), header=HEADER)
    host.publish(queue, b"4", b"5", header=HEADER)
    assert [consumer.bodies for consumer in consumers] == [
        [b"0", b"3"],
        [b"1", b"4"],
        [b"2", b"5"],
    ]


def test_a_consumer_without_capacity_is_passed_over_and_comes_back(host: QueueHost) -> None:
    queue = host.declare("q")
    full, free = LoneConsumer("full", credit=1), LoneConsumer("free")
    queue.add_consumer(full)
    queue.add_consumer(free)
    host.publish(queue, *bodies(4), header=HEADER)
    assert (full.bodies, free.bodies) == ([b"0"], [b"1", b"2", b"3"])
    full.credit = 1
    host.publish(queue, b"4", b"5", header=HEADER)
    assert len(full.bodies) == 2
    assert len(free.bodies) == 4


def test_consumers_without_capacity_cost_a_round_one_question_each(host: QueueHost) -> None:
    queue = host.declare("q")
    full = [LoneConsumer(credit=0) for _ in range(50)]
    for consumer in [*full, LoneConsumer()]:
        queue.add_consumer(consumer)
    host.settle()
    assert all(consumer.asked == 0 for consumer in full), "nothing is ready, nobody is asked"
    host.publish(queue, *bodies(100), header=HEADER)
    assert all(consumer.asked == 1 for consumer in full)
    assert queue.delivered == 100


def test_higher_priority_first_while_it_has_capacity(host: QueueHost) -> None:
    queue = host.declare("q")
    low, high, middle = (LoneConsumer(credit=2, priority=level) for level in (-1, 10, 3))
    also_high = LoneConsumer(credit=1, priority=10)
    for consumer in (low, high, middle, also_high):
        queue.add_consumer(consumer)
    host.publish(queue, *bodies(7), header=HEADER)
    assert (high.bodies, also_high.bodies) == ([b"0", b"2"], [b"1"])
    assert (middle.bodies, low.bodies) == ([b"3", b"4"], [b"5", b"6"])
    assert queue.ready == 0


def test_a_removed_consumer_gets_nothing_more(host: QueueHost) -> None:
    queue = host.declare("q")
    one, two, other = LoneConsumer(), LoneConsumer(), LoneConsumer(priority=1, credit=0)
    for consumer in (one, two, other):
        queue.add_consumer(consumer)
    queue.remove_consumer(one)
    queue.remove_consumer(other)
    queue.remove_consumer(other)
    host.publish(queue, *bodies(3), header=HEADER)
    assert (len(one.bodies), len(two.bodies), other.asked) == (0, 3, 0)
    assert queue.consumers == [two]


def test_a_single_active_consumer_is_followed_by_the_next(host: QueueHost) -> None:
    queue = host.declare("q", single_active_consumer=True)
    first, second = LoneConsumer(credit=2), LoneConsumer(priority=5)
    queue.add_consumer(first)
    queue.add_consumer(second)
    host.publish(queue, *bodies(3), header=HEADER)
    assert (first.bodies, second.bodies) == ([b"0", b"1"], [])
    queue.remove_consumer(first)
    host.settle()
    assert second.bodies == [b"2"]
    queue.remove_consumer(second)
    host.publish(queue, b"3", header=HEADER)
    assert queue.ready == 1


def test_the_highest_priority_takes_over_then_age_and_none_preempts(host: QueueHost) -> None:
    queue = host.declare("q", single_active_consumer=True)
    first, old, high, also_high = (LoneConsumer(priority=level) for level in (0, 0, 5, 5))
    for consumer in (first, old, high, also_high):
        queue.add_consumer(consumer)
    assert queue.rotation.active is first
    for leaving, following in ((first, high), (high, also_high), (also_high, old), (old, None)):
        queue.remove_consumer(leaving)
        assert queue.rotation.active is following
    queue.add_consumer(first)
    queue.add_consumer(high)
    queue.remove_consumer(high)
    assert queue.rotation.active is first


def test_a_weight_changes_the_shares_of_its_priority_only(host: QueueHost) -> None:
    queue = host.declare("q")
    one, heavy, high = LoneConsumer(), LoneConsumer(weight=3), LoneConsumer(priority=1, credit=100)
    for consumer in (one, heavy, high):
        queue.add_consumer(consumer)
    host.publish(queue, *bodies(4_100), header=HEADER)
    assert (len(high.bodies), len(heavy.bodies), len(one.bodies)) == (100, 3_000, 1_000)
