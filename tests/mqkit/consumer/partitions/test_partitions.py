"""Who may begin, by key."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from mqkit.consumer.partitions.partitions import (
    PAUSE_FIRST_S,
    PAUSE_MAX_S,
    KeyedArrival,
    Partitions,
)
from mqkit.message import Delivery, Properties
from mqkit.transport.seam import Channel


def arrival(tag: int, key: str | None) -> KeyedArrival:
    delivery = Delivery("", "q", b"", Properties(), tag, False)
    return KeyedArrival(cast(Channel, None), delivery, key=key)


def test_one_of_a_key_and_others_beside_it() -> None:
    partitions = Partitions()
    a1, a2, a3, b1 = (arrival(n, key) for n, key in enumerate("aaab"))
    assert [partitions.arrive(each) for each in (a1, a2, a3, b1)] == [True, False, False, True]
    assert (partitions.behind("a"), partitions.behind("b"), partitions.behind("c")) == (2, 0, 0)
    assert partitions.finish(a1) is a2
    assert partitions.finish(b1) is None
    assert partitions.finish(a2) is a3
    assert partitions.finish(a3) is None
    assert partitions.arrive(a1)


def test_a_message_without_a_key_waits_for_nobody() -> None:
    partitions = Partitions()
    one, two = arrival(1, None), arrival(2, None)
    assert partitions.arrive(one)
    assert partitions.arrive(two)
    assert partitions.finish(one) is None


def test_who_is_held_is_due_once_and_not_when_taken_out() -> None:
    partitions = Partitions()
    first, other = arrival(1, "a"), arrival(2, "a")
    partitions.arrive(first)
    partitions.hold(first)
    assert partitions.held_for("a") is first
    assert not partitions.due(other)
    assert partitions.due(first)
    assert not partitions.due(first)
    assert partitions.held_for("a") is None
    partitions.hold(first)
    assert partitions.take_held() == [first]
    assert not partitions.due(first)


def test_a_line_is_taken_in_order_and_its_key_stays_busy() -> None:
    partitions = Partitions()
    first, second, third, new = (arrival(n, "a") for n in range(4))
    for each in (first, second, third):
        partitions.arrive(each)
    assert partitions.take_line("a") == [second, third]
    assert not partitions.arrive(new)
    assert partitions.finish(first) is new


def test_what_stands_behind_can_be_taken_one_by_one() -> None:
    partitions = Partitions()
    for each in (arrival(1, "a"), arrival(2, "a"), arrival(3, "b"), arrival(4, "b")):
        partitions.arrive(each)
    taken = [partitions.take_behind(), partitions.take_behind(), partitions.take_behind()]
    tags = [None if each is None else each.delivery.delivery_tag for each in taken]
    assert tags == [2, 4, None]


def test_pauses_grow() -> None:
    waits = [KeyedArrival(cast(Channel, None), arrival(1, "a").delivery, pauses=n).pause_s
             for n in (0, 1, 2, 50)]  # fmt: skip
    assert waits == [PAUSE_FIRST_S, 2 * PAUSE_FIRST_S, 4 * PAUSE_FIRST_S, PAUSE_MAX_S]


@given(st.lists(st.sampled_from(["a", "b", None, "finish"]), max_size=60))
def test_each_comes_to_its_turn_in_the_order_of_its_key(steps: list[str | None]) -> None:
    partitions = Partitions()
    running: list[KeyedArrival] = []
    begun: list[KeyedArrival] = []
    number = 0

    def begin(each: KeyedArrival) -> None:
        assert each.key is None or each.key not in {other.key for other in running}
        running.append(each)
        begun.append(each)

    def finish() -> None:
        if running and (following := partitions.finish(running.pop(0))) is not None:
            begin(following)

    for step in steps:
        if step == "finish":
            finish()
            continue
        number += 1
        each = arrival(number, step)
        if partitions.arrive(each):
            begin(each)
    while running:
        finish()
    for key in ("a", "b"):
        tags = [each.delivery.delivery_tag for each in begun if each.key == key]
        assert tags == sorted(tags)
    assert len(begun) == number
