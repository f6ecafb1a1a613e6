"""Times as callers give them - ``5``, ``0.5``, ``"5s"``, ``timedelta(seconds=5)`` - in seconds."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import EXAMPLES, parse_duration

Span: TypeAlias = float | str | timedelta
"""Seconds as a number, text like ``"5s"``, or a ``timedelta``."""


def seconds(span: Span, what: str) -> float:
    """``span`` in seconds; ``what`` is what an error calls it.

    Raises :exc:`~mqkit.errors.ConfigurationError` for anything else, and for a negative time.
    """
    if isinstance(span, str):
        return parse_duration(span) / 1000
    if isinstance(span, timedelta):
        span_s = span.total_seconds()
    elif isinstance(span, (int, float)) and not isinstance(span, bool):
        span_s = float(span)
    else:
        raise ConfigurationError(
            f"{what}={span!r}: expected seconds, text like {EXAMPLES}, or a timedelta"
        )
    if not math.isfinite(span_s) or span_s < 0:
        raise ConfigurationError(f"{what}={span!r}: expected a finite time that is not negative")
    return span_s


def seconds_or_none(span: Span | None, what: str) -> float | None:
    """As :func:`seconds`; ``None`` stays ``None``."""
    return None if span is None else seconds(span, what)
