"""The time since when a message lies in its lot, from its headers. Pure.

mqkit writes it when it parks (:data:`mqkit.retry.headers.PARKED_AT`), a broker when it
dead-letters (``x-death``, RabbitMQ "Dead Letter Exchanges"). Where both are there the later one
counts, so that no message is taken too early.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mqkit.retry.headers import PARKED_AT

DEATH_RESOLUTION = timedelta(seconds=1)
"""``x-death`` has whole seconds, cut off: the message may have died up to so much later."""

SKEW_MAX = timedelta(hours=1)
"""Clocks of two machines are seconds apart. A time further in the future is none that anybody has
written, and a message with it would lie there for ever without a word."""


def parked_since(headers: Mapping[str, Any], now: datetime) -> datetime | None:
    """The time, aware, not earlier than the parking; ``None`` where the headers don't tell.

    Never raises: headers are a peer's.
    """
    times = [_parked_at(headers), _newest_death(headers)]
    known = [time for time in times if time is not None and time - now <= SKEW_MAX]
    return max(known, default=None)


def _parked_at(headers: Mapping[str, Any]) -> datetime | None:
    text = headers.get(PARKED_AT)
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return _in_utc(time) if time.utcoffset() is not None else None


def _newest_death(headers: Mapping[str, Any]) -> datetime | None:
    """The end of the second in which the message died last. RabbitMQ keeps the time of the *first*
    death where one queue let it die twice for the same reason: that is none to go by."""
    deaths = headers.get("x-death")
    newest = deaths[0] if isinstance(deaths, list) and deaths else None
    if not isinstance(newest, Mapping) or newest.get("count", 1) != 1:
        return None
    time = _in_utc(newest.get("time"))
    try:
        return None if time is None else time + DEATH_RESOLUTION
    except OverflowError:
        return None


def _in_utc(time: object) -> datetime | None:
    """A time of a field table has no zone where an adapter leaves it out: it is UTC."""
    if not isinstance(time, datetime):
        return None
    try:
        return time.replace(tzinfo=UTC) if time.utcoffset() is None else time.astimezone(UTC)
    except OverflowError:
        return None
