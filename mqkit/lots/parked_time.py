"""The time at which a message came into its lot. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mqkit.message import Headers
from mqkit.retry.headers import PARKED_AT
from mqkit.wire import Typed


def parked_time(headers: Headers) -> datetime | None:
    """The time that mqkit wrote at parking, else that of the newest death (``x-death``, RabbitMQ
    "Dead Letter Exchanges"), aware; ``None`` where nobody wrote one. Never raises."""
    text = headers.get(PARKED_AT)
    if isinstance(text, str):
        try:
            return _aware(datetime.fromisoformat(text))
        except ValueError:
            return None
    deaths = headers.get("x-death")
    newest = deaths[0] if isinstance(deaths, list) and deaths else None
    time = newest.get("time") if isinstance(newest, Mapping) else None
    return _aware(time) if isinstance(time, datetime) else None


def age_ms(headers: Headers, now: datetime) -> int | None:
    """The milliseconds that a message has lain in its lot; ``None`` where its time is unknown. A
    time to come, by another machine's clock, is an age of 0."""
    time = parked_time(headers)
    return None if time is None else max(0, int((now - time).total_seconds() * 1000))


def _aware(time: datetime) -> datetime:
    return time if time.utcoffset() is not None else time.replace(tzinfo=UTC)


def bare(value: Any) -> Any:
    """A header's value without the tag that it came with."""
    return value.value if isinstance(value, Typed) else value
