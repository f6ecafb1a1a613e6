"""Shares by weight: exact over thousands of messages, smooth over a few, and fair to who rests."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.weighted_ring import WEIGHT_MAX, RoundRobinRing, WeightedRing
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost

HEADER = encode_header(1, Properties())


def served(ring: WeightedRing, turns: int) -> str:
    tags = []
    for _ in range(turns):
        consumer = next(iter(ring))
        tags.append(consumer.tag)
        ring.move_to_end(consumer)
    return "".join(tags)


def test_turns_are_mixed_and_not_in_runs() -> None:
    ring = WeightedRing((LoneConsumer("a", weight=3), LoneConsumer("b", weight=1)))
    assert served(ring, 12).count("bb") == 0
    assert "aaaa" not in served(ring, 100)
    ring = WeightedRing(LoneConsumer(tag, weight=w) for tag, w in (("a", 5), ("b", 1), ("c", 1)))
    turns = served(ring, 700)
    for start in range(0, 693):
        window = turns[start : start + 7]
        assert 4 <= window.count("a") <= 6, window


@pytest.mark.parametrize("weights", [(1, 1), (3, 1), (7, 2, 1), (1, 2, 3, 4), (WEIGHT_MAX, 1)])
def test_shares_are_the_weights(weights: tuple[int, ...]) -> None:
    host = QueueHost()
    queue = host.declare("q")
    consumers = [LoneConsumer(str(place), weight=w) for place, w in enumerate(weights)]
    for consumer in consumers:
        queue.add_consumer(consumer)
    rounds = 10_010 // sum(weights)
    for _ in range(rounds):
        host.publish(queue, *[b"x"] * sum(weights), header=HEADER)
    for consumer, weight in zip(consumers, weights, strict=True):
        assert abs(len(consumer.leases) - weight * rounds) <= 1


def test_with_a_prefetch_shares_hold_while_messages_are_what_is_short() -> None:
    host = QueueHost()
    queue = host.declare("q")
    heavy, light = LoneConsumer(weight=3, credit=10), LoneConsumer(weight=1, credit=10)
    queue.add_consumer(heavy)
    queue.add_consumer(light)
    taken = {heavy: 0, light: 0}
    for _ in range(1_000):
        host.publish(queue, *[b"x"] * 4, header=HEADER)
        for consumer in (heavy, light):
            for lease in consumer.leases:
                queue.ack(lease)
            taken[consumer] += len(consumer.leases)
            consumer.credit += len(consumer.leases)
            consumer.leases.clear()
    assert (taken[heavy], taken[light]) == (3_000, 1_000)


def test_who_was_full_does_not_catch_up() -> None:
    host = QueueHost()
    queue = host.declare("q")
    full, free = LoneConsumer(weight=2, credit=0), LoneConsumer(weight=1)
    queue.add_consumer(full)
    queue.add_consumer(free)
    host.publish(queue, *[b"x"] * 1_000, header=HEADER)
    assert len(free.leases) == 1_000
    full.credit = 1_000_000
    host.publish(queue, *[b"x"] * 300, header=HEADER)
    assert abs(len(full.leases) - 200) <= 2


def test_one_that_comes_later_begins_with_the_others() -> None:
    ring = WeightedRing((LoneConsumer("a", weight=2),))
    served(ring, 1_000)
    ring.add(LoneConsumer("b", weight=2))
    assert 49 <= served(ring, 100).count("b") <= 51


def test_a_removed_one_gets_no_turn() -> None:
    first, second = LoneConsumer("a", weight=2), LoneConsumer("b")
    ring = WeightedRing((first, second))
    assert list(ring) == [first, second] or list(ring) == [second, first]
    ring.remove(first)
    assert served(ring, 5) == "bbbbb"
    assert len(ring) == 1


def test_who_rests_gets_no_turn_and_keeps_its_clock() -> None:
    first, second = LoneConsumer("a", weight=3), LoneConsumer("b")
    ring = WeightedRing((first, second))
    assert served(ring, 1) == "a"
    ring.rest(first)
    assert (len(ring), served(ring, 2)) == (1, "bb")
    ring.resume(first)
    assert served(ring, 1) == "a"


def test_resting_a_thousand_times_leaves_nothing_behind() -> None:
    consumers = [LoneConsumer(str(number), weight=2) for number in range(10)]
    ring = WeightedRing(consumers)
    for _ in range(1_000):
        for consumer in consumers:
            ring.rest(consumer)
            ring.resume(consumer)
    assert len(ring._heap) <= 2 * len(consumers) + 64
    assert sorted(served(ring, 10)) == [str(number) for number in range(10)]


def test_round_robin_one_after_the_other() -> None:
    ring = RoundRobinRing()
    consumers = [LoneConsumer(str(number)) for number in range(3)]
    for consumer in consumers:
        ring.add(consumer)
    ring.move_to_end(consumers[0])
    ring.rest(consumers[1])
    assert list(ring) == [consumers[2], consumers[0]]
    ring.resume(consumers[1])
    ring.remove(consumers[2])
    ring.remove(consumers[2])
    assert list(ring) == [consumers[0], consumers[1]]
