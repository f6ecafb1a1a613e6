"""Everybody who is told of an alert."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from mqkit.lots.alerts.alert import Alert, AlertKind
from mqkit.lots.alerts.telling import AlertTelling
from mqkit.testing.clock import FakeClock

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 24, tzinfo=UTC)


def alert(*, is_over: bool = False) -> Alert:
    return Alert(AlertKind.DEPTH, "q", NOW, is_over, 7, 5, "7 messages, and the limit is 5")


async def test_functions_a_log_and_counters(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told: list[Alert] = []
    telling = AlertTelling(None, FakeClock())
    telling.add(told.append)
    await telling.tell(alert())
    await telling.tell(alert(is_over=True))
    await telling.close()
    assert told == [alert(), alert(is_over=True)]
    assert (telling.crossed, telling.over, telling.failed) == ({"depth": 1}, {"depth": 1}, 0)
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert lines == [
        ("WARNING", "alert: q: 7 messages, and the limit is 5"),
        ("INFO", "alert: q: depth alert is over"),
    ]


async def test_one_that_fails_is_counted_and_stops_nobody() -> None:
    told: list[Alert] = []
    telling = AlertTelling(None, FakeClock())

    def broken(alert: Alert) -> None:
        raise RuntimeError

    telling.add(broken)
    telling.add(told.append)
    await telling.tell(alert())
    await telling.close()
    assert (told, telling.failed) == ([alert()], 1)


def test_as_plain_values() -> None:
    shown = alert(is_over=True).to_dict()
    assert shown == {
        "event": "over",
        "alert": "depth",
        "queue": "q",
        "value": 7,
        "limit": 5,
        "text": "q: depth alert is over",
        "time": "2026-11-24T00:00:00+00:00",
    }
    assert alert().to_dict()["event"] == "crossed"
