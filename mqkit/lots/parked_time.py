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
from mqkit.wire import Typed

DEATH_RESOLUTION = timedelta(seconds=1)
"""``x-death`` has whole seconds, cut off: the message may have died up to so much later."""

SKEW_MAX = timedelta(hours=1)
"""Clocks of two machines are seconds apart. A time further in the future is none that anybody has
written, and a message with it would lie there for ever without a word."""


def parked_since(headers: Mapping[str, Any], now: datetime) -> datetime | None:
    """The time, aware, not earlier than the parking; ``None`` where the headers don't tell.

    Never raises: headers are a peer's.
    """
    return max((time for time in _times(headers) if time - now <= SKEW_MAX), default=None)


def parked_time(headers: Mapping[str, Any]) -> datetime | None:
    """The time in the headers, whatever the clock here says: a part of a message's identity."""
    return max(_times(headers), default=None)


def _times(headers: Mapping[str, Any]) -> list[datetime]:
    found = (_parked_at(headers), _newest_death(headers))
    return [time for time in found if time is not None]


def _parked_at(headers: Mapping[str, Any]) -> datetime | None:
    text = bare(headers.get(PARKED_AT))
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
    deaths = bare(headers.get("x-death"))
    newest = bare(deaths[0]) if isinstance(deaths, list) and deaths else None
    if not isinstance(newest, Mapping) or bare(newest.get("count", 1)) != 1:
        return None
    time = _in_utc(bare(newest.get("time")))
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


def age_ms(headers: Mapping[str, Any], now: datetime) -> int | None:
    """The milliseconds that a message has lain in its lot; ``None`` where its time is unknown. A
    time to come, by another machine's clock, is an age of 0."""
    since = parked_since(headers, now)
    return None if since is None else max(0, int((now - since).total_seconds() * 1000))


def bare(value: Any) -> Any:
    """A header's value without the tag that an exact reading leaves on it."""
    return value.value if isinstance(value, Typed) else value
