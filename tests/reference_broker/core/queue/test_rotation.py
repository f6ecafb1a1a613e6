"""Consumers of a queue: who may have it, who is active, and who rests."""

from __future__ import annotations

import random

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.rotation import ConsumerRotation, PriorityRings
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost

HEADER = encode_header(1, Properties())


@pytest.fixture
def host() -> QueueHost:
    return QueueHost()


def front(rings: PriorityRings) -> LoneConsumer | None:
    consumer = None if rings.first is None else next(iter(rings.first))
    assert consumer is None or isinstance(consumer, LoneConsumer)
    return consumer


def test_a_single_active_consumer_is_followed_by_the_next(host: QueueHost) -> None:
    queue = host.declare("q", single_active_consumer=True)
    first, second = LoneConsumer(credit=2), LoneConsumer(priority=5)
    queue.add_consumer(first)
    queue.add_consumer(second)
    host.publish(queue, b"0", b"1", b"2", header=HEADER)
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


def test_all_but_the_active_one_wait_and_none_of_them_serves() -> None:
    rotation = ConsumerRotation(single_active=True)
    assert list(rotation.serving) == []
    consumers = [LoneConsumer(str(number)) for number in range(3)]
    for consumer in consumers:
        rotation.add(consumer)
    assert list(rotation.serving) == consumers[:1]
    rotation.rest(consumers[0])
    assert list(rotation.serving) == consumers[:1]
    assert rotation.idle
    rotation.remove(consumers[0])
    assert not rotation.idle
    assert front(rotation.turns) is consumers[1]


def test_an_exclusive_consumer_is_known_until_it_goes() -> None:
    rotation = ConsumerRotation()
    alone, other = LoneConsumer(exclusive=True), LoneConsumer()
    assert not rotation.refuses(alone)
    rotation.add(alone)
    assert rotation.refuses(other)
    assert rotation.refuses(LoneConsumer(exclusive=True))
    rotation.remove(alone)
    assert not rotation.refuses(other)
    rotation.add(other)
    assert rotation.refuses(alone)


def test_those_that_are_woken_come_back_in_the_order_in_which_they_went_to_rest() -> None:
    rotation = ConsumerRotation()
    consumers = [LoneConsumer(str(number)) for number in range(5)]
    for consumer in consumers:
        rotation.add(consumer)
    for number in (3, 0, 4, 1):
        rotation.rest(consumers[number])
    for number in (1, 4, 3, 1):
        assert rotation.wake(consumers[number])
    rotation.remove(consumers[4])
    assert rotation.resume_woken() == 2
    ring = rotation.turns.first
    assert ring is not None
    assert [consumer.tag for consumer in ring] == ["2", "3", "1"]
    assert rotation.resume_woken() == 0


def test_one_that_is_alone_rests_where_it_is() -> None:
    rotation = ConsumerRotation()
    alone, other = LoneConsumer("alone"), LoneConsumer("other", priority=1)
    rotation.add(alone)
    rotation.rest(alone)
    assert rotation.idle
    assert rotation.wake(alone)
    assert not rotation.idle
    assert not rotation.wake(alone)
    rotation.rest(alone)
    rotation.add(other)
    assert not rotation.idle
    rotation.rest(other)
    rotation.rest(alone)
    assert not rotation.idle, "then they rest side by side"
    assert rotation.turns.first is None
    assert rotation.wake(alone)
    assert rotation.resume_woken() == 1
    rotation.remove(other)
    rotation.rest(alone)
    assert rotation.idle
    rotation.remove(alone)
    assert not rotation.idle


def test_who_rested_first_is_served_first_also_before_the_last_one() -> None:
    rotation = ConsumerRotation()
    first, last = LoneConsumer("first"), LoneConsumer("last")
    for consumer in (first, last):
        rotation.add(consumer)
    for consumer in (first, last):
        rotation.rest(consumer)
    for consumer in (last, first):
        rotation.wake(consumer)
    assert rotation.resume_woken() == 2
    assert front(rotation.turns) is first


def test_one_that_has_no_weight_may_rest_while_another_comes_that_has_one() -> None:
    rotation = ConsumerRotation()
    resting, heavy = LoneConsumer("resting"), LoneConsumer("heavy", weight=2)
    rotation.add(resting)
    rotation.add(LoneConsumer("light"))
    rotation.rest(resting)
    rotation.add(heavy)
    rotation.wake(resting)
    rotation.resume_woken()
    ring = rotation.turns.first
    assert ring is not None
    assert {consumer.tag for consumer in ring} == {"resting", "light", "heavy"}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("single_active", [False, True])
def test_the_highest_priority_that_takes_turns_is_in_front(seed: int, single_active: bool) -> None:
    print(f"seed {seed}")
    draw = random.Random(seed)
    rotation = ConsumerRotation(single_active=single_active)
    here: list[LoneConsumer] = []
    resting: list[LoneConsumer] = []
    for _ in range(400):
        step = draw.random()
        if step < 0.4 or not here:
            weight = draw.choice((1, 1, 1, 7))
            here.append(LoneConsumer(priority=draw.randrange(-3, 4), weight=weight))
            rotation.add(here[-1])
        elif step < 0.6:
            gone = here.pop(draw.randrange(len(here)))
            resting = [consumer for consumer in resting if consumer is not gone]
            assert rotation.remove(gone)
            assert not rotation.remove(gone)
        elif step < 0.8:
            consumer = front(rotation.turns)
            if consumer is not None and not rotation.idle:
                rotation.rest(consumer)
                if rotation.idle:
                    assert len(rotation.serving) == 1
                else:
                    resting.append(consumer)
        elif resting:
            woken = resting.pop(draw.randrange(len(resting)))
            assert rotation.wake(woken)
            assert not rotation.idle
            assert rotation.resume_woken() == 1
        serving = [each for each in rotation.serving if each not in resting]
        first = front(rotation.turns)
        assert (first is None) is (not serving)
        if first is not None:
            assert first.priority == max(consumer.priority for consumer in serving)
        assert list(rotation.consumers) == here
    for consumer in here:
        rotation.remove(consumer)
    assert (rotation.turns.first, rotation.turns.is_empty, rotation.active) == (None, True, None)
