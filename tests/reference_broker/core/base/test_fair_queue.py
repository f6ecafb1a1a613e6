"""fair_queue: lanes take turns, and the longest one makes room."""

from __future__ import annotations

from reference_broker.core.base.fair_queue import FairQueue


def queue_of(*items: str) -> FairQueue[str]:
    """Each in the lane of its first letter."""
    queue: FairQueue[str] = FairQueue()
    for item in items:
        queue.push(item[0], item)
    return queue


def emptied(queue: FairQueue[str]) -> list[str]:
    items = []
    while (item := queue.pop()) is not None:
        items.append(item)
    return items


def test_lanes_take_turns_and_keep_their_order() -> None:
    queue = queue_of("a1", "a2", "a3", "b1", "c1", "b2")
    assert len(queue) == 6
    assert emptied(queue) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert len(queue) == 0


def test_a_lane_that_comes_back_waits_its_turn() -> None:
    queue = queue_of("a1", "b1", "c1")
    assert queue.pop() == "a1"
    queue.push("a", "a2")
    assert emptied(queue) == ["b1", "c1", "a2"]


def test_the_newest_of_the_longest_lane_makes_room() -> None:
    queue = queue_of("a1", "b1", "b2", "b3")
    assert queue.displace("c") == "b3"
    assert queue.displace("a") == "b2"
    assert queue.displace("a") is None
    assert queue.displace("c") == "a1"
    assert queue.displace("c") == "b1"
    assert queue.displace("c") is None
    assert emptied(queue) == []


def test_what_nobody_wants_is_dropped() -> None:
    queue = queue_of("a1", "b1", "a2", "b2")
    assert queue.drop(lambda item: item in ("a1", "a2", "b2")) == ["a1", "a2", "b2"]
    assert emptied(queue) == ["b1"]
