"""Measurements of a queue as conditions of alerts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mqkit.lots.alerts.alert import AlertKind
from mqkit.lots.clock.conditions import of_age, of_depth, of_look
from mqkit.lots.clock.looked import Looked
from mqkit.topology.lot_model import AlertModel

NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("limit", "messages", "expected"),
    [(100, 99, [False]), (100, 100, [True]), (1, 0, [False]), (None, 10**9, [])],
)
def test_depth(limit: int | None, messages: int, expected: list[bool]) -> None:
    found = list(of_depth(AlertModel(depth=limit), messages))
    assert [condition.is_on for condition in found] == expected
    assert all((each.value, each.limit) == (messages, limit) for each in found)
    assert list(of_depth(None, messages)) == []


@pytest.mark.parametrize(("messages", "words"), [(1, "1 message,"), (2, "2 messages,")])
def test_messages_are_counted_as_people_count(messages: int, words: str) -> None:
    (found,) = of_depth(AlertModel(depth=1), messages)
    assert found.text.startswith(words)


@pytest.mark.parametrize(
    ("ago_s", "expected", "value"),
    [(59.9, False, 59.9), (60, True, 60.0), (None, False, 0.0), (-5, False, 0.0)],
)
def test_age(ago_s: float | None, expected: bool, value: float) -> None:
    since = None if ago_s is None else NOW - timedelta(seconds=ago_s)
    (found,) = of_age(AlertModel(age_ms=60_000), since, NOW)
    assert (found.is_on, found.value, found.limit) == (expected, value, 60.0)
    assert list(of_age(AlertModel(depth=1), since, NOW)) == []
    assert list(of_age(None, since, NOW)) == []


def on(looked: Looked) -> set[AlertKind]:
    return {condition.kind for condition in of_look(looked) if condition.is_on}


@pytest.mark.parametrize(
    ("looked", "expected"),
    [
        (Looked(5, seen=5), set()),
        (Looked(5, seen=5, archive_fault="disk full"), {AlertKind.ARCHIVE}),
        (Looked(5, seen=5, refused="no route"), {AlertKind.REPLAY}),
        (Looked(5, seen=5, undated=2), {AlertKind.UNDATED}),
        (Looked(5, seen=3), {AlertKind.UNSEEN}),
        (Looked(5, seen=3, delivery_limit=True), {AlertKind.DELIVERY_LIMIT}),
    ],
)
def test_a_look(looked: Looked, expected: set[AlertKind]) -> None:
    assert on(looked) == expected


def test_a_look_by_who_leads_no_more_says_nothing() -> None:
    """Neither that something is wrong, nor that it is over."""
    assert list(of_look(Looked(5, refused="no route", is_led=False))) == []
