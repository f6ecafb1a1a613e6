"""Whose turn it is among consumers."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.dispatch import DELIVERIES_PER_UNIT, hand_out
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
    assert list(queue.consumers) == [two]


def test_a_weight_changes_the_shares_of_its_priority_only(host: QueueHost) -> None:
    queue = host.declare("q")
    one, heavy, high = LoneConsumer(), LoneConsumer(weight=3), LoneConsumer(priority=1, credit=100)
    for consumer in (one, heavy, high):
        queue.add_consumer(consumer)
    host.publish(queue, *bodies(4_100), header=HEADER)
    assert (len(high.bodies), len(heavy.bodies), len(one.bodies)) == (100, 3_000, 1_000)


def test_a_consumer_that_rests_is_asked_no_more_until_it_is_woken(host: QueueHost) -> None:
    queue = host.declare("q")
    full = [LoneConsumer(credit=0) for _ in range(50)]
    for consumer in full:
        queue.add_consumer(consumer)
    for number in range(100):
        host.publish(queue, b"%d" % number, header=HEADER)
    assert [consumer.asked for consumer in full] == [1] * 50
    full[7].credit = 3
    assert queue.rotation.wake(full[7])
    queue.dispatch()
    assert full[7].bodies == [b"0", b"1", b"2"]
    assert [consumer.asked for consumer in full].count(1) == 49
    assert not queue.rotation.wake(LoneConsumer()), "it is not here"


def test_a_spent_budget_stops_between_two_deliveries_and_goes_on_there(host: QueueHost) -> None:
    whole, parts = (host.declare(name, max_priority=1) for name in ("whole", "parts"))
    served: dict[str, list[list[bytes]]] = {}
    for queue, units in ((whole, 1 << 60), (parts, 1)):
        consumers = [
            LoneConsumer(credit=n * 4, priority=n // 3, weight=1 + n // 4, no_ack=n % 2 == 0)
            for n in range(6)
        ]
        for consumer in consumers:
            queue.add_consumer(consumer)
        for body in bodies(100):
            host.publish(queue, body, header=HEADER, settle=False)
        host.budget.units, turns = units, 1
        host.budget.refill()
        while not hand_out(queue):
            assert host.budget.left <= 0
            host.budget.refill()
            turns += 1
        served[queue.name] = [consumer.bodies for consumer in consumers]
        assert queue.ready == 40
        assert hand_out(queue), "nobody has capacity: that is no lack of budget"
        # A unit is two deliveries, or consumers that go to rest: 60 and 6, and a last look.
        assert turns == (1 if queue is whole else 66 // DELIVERIES_PER_UNIT + 1)
    assert served["parts"] == served["whole"]


def test_a_run_may_cost_more_than_there_was(host: QueueHost) -> None:
    queue = host.declare("q")
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    for body in bodies(1_000):
        host.publish(queue, body, header=HEADER, settle=False)
    host.budget.units = 10
    host.budget.refill()
    assert not hand_out(queue)
    given = len(consumer.bodies)
    assert 10 * DELIVERIES_PER_UNIT <= given < 1_000
    assert host.budget.left == 10 - given // DELIVERIES_PER_UNIT


def test_with_nothing_ready_a_spent_budget_is_enough(host: QueueHost) -> None:
    queue = host.declare("q", max_priority=5)
    queue.add_consumer(LoneConsumer())
    host.budget.left = 0
    assert hand_out(queue)
    assert hand_out(host.declare("nobody"))
