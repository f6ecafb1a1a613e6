"""An alert is told once when its limit is reached, and once when that is over."""

from __future__ import annotations

from datetime import UTC, datetime

from mqkit.lots.alerts.alert import AlertKind, Condition
from mqkit.lots.alerts.states import TRANSITIONS, AlertBook, AlertState

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def test_the_table_is_complete() -> None:
    assert set(TRANSITIONS) == {(state, is_on) for state in AlertState for is_on in (False, True)}


def test_once_when_crossed_and_once_when_over() -> None:
    book = AlertBook("q")
    told = [
        book.note(Condition(AlertKind.DEPTH, is_on, 7, 5), NOW)
        for is_on in (False, True, True, False, False, True)
    ]
    assert [None if each is None else each.is_over for each in told] == [
        *(None, False, None, True, None, False),
    ]
    assert book.is_raised(AlertKind.DEPTH)


def test_kinds_are_apart() -> None:
    book = AlertBook("q")
    assert book.note(Condition(AlertKind.DEPTH, True), NOW)
    assert book.note(Condition(AlertKind.AGE, True), NOW)
    assert book.note(Condition(AlertKind.DEPTH, True), NOW) is None


def test_an_alert_in_plain_values() -> None:
    alert = AlertBook("q").note(Condition(AlertKind.DEPTH, True, 7, 5, "7 messages"), NOW)
    assert alert is not None
    assert alert.to_dict() == {
        "event": "crossed",
        "alert": "depth",
        "queue": "q",
        "value": 7,
        "limit": 5,
        "text": "q: 7 messages",
        "time": "2026-11-24T00:00:00+00:00",
    }
