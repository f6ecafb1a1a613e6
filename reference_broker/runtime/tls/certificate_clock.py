"""The wall clock, as certificates have it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """An aware time, to be compared with the ends of a certificate."""
    return datetime.now(UTC)
