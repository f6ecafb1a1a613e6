"""The size of a batch, and its partitions."""

from __future__ import annotations

import pytest

from mqkit_spark.source.stream.planning import MESSAGES_MAX, SHARE_MAX, Planner


def planner(least: int = 1, delay_s: float = 60.0, partitions: int = 1) -> Planner:
    return Planner(least, delay_s, partitions)


def test_all_that_is_there_or_as_much_as_is_allowed() -> None:
    assert planner().messages(0, None, 0.0) == 0
    assert planner().messages(70, None, 0.0) == 70
    assert planner().messages(70, 50, 0.0) == 50
    assert planner().messages(10 * MESSAGES_MAX, None, 0.0) == MESSAGES_MAX


def test_it_waits_for_the_least_but_no_longer_than_the_delay() -> None:
    plan = planner(least=100, delay_s=60.0)
    assert plan.messages(99, None, 1000.0) == 0
    assert plan.messages(99, None, 1059.9) == 0
    assert plan.messages(99, None, 1060.0) == 99
    assert plan.messages(100, None, 1001.0) == 100
    plan.planned(99, 1060.0)
    assert plan.messages(99, None, 1119.0) == 0
    assert plan.messages(99, None, 1120.0) == 99


def test_an_available_now_query_ends_at_what_lay_there_and_waits_for_nothing() -> None:
    plan = planner(least=100)
    plan.end_at(70)
    assert plan.messages(500, 50, 0.0) == 50
    plan.planned(50, 0.0)
    assert plan.messages(500, 50, 0.0) == 20
    plan.planned(20, 0.0)
    assert plan.messages(500, 50, 0.0) == 0


@pytest.mark.parametrize(
    ("least", "messages", "partitions"),
    [(1, 5, 1), (4, 100, 4), (4, 3, 3), (1, SHARE_MAX + 1, 2), (2, 10 * SHARE_MAX, 10)],
)
def test_partitions(least: int, messages: int, partitions: int) -> None:
    assert planner(partitions=least).partitions(messages) == partitions
