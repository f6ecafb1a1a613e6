"""Times as callers give them - ``5``, ``0.5``, ``"5s"``, ``timedelta(seconds=5)`` - in seconds.

Text is read when the program runs. For type checkers the texts that people write are listed, so
that ``timeout="soon"`` is an error in the editor; for others there is :func:`duration`.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import EXAMPLES, MAX_DURATION_MS, DurationText, parse_duration

Span: TypeAlias = float | timedelta | DurationText
"""Seconds as a number, text like ``"5s"``, or a ``timedelta``."""

_FLOAT_ERROR = 1e-12
"""The relative error of a few operations on floats, and less than a microsecond in 11 days."""


def duration(text: str) -> timedelta:
    """Text like ``"1m15s"``, of a setting perhaps, as a ``timedelta``, for every argument that
    takes a :data:`Span`.

    Raises :exc:`~mqkit.errors.ConfigurationError` for text that is no duration.
    """
    return timedelta(milliseconds=parse_duration(text))


def seconds(span: float | str | timedelta, what: str) -> float:
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


def seconds_or_none(span: float | str | timedelta | None, what: str) -> float | None:
    """As :func:`seconds`; ``None`` stays ``None``."""
    return None if span is None else seconds(span, what)


def whole_milliseconds(span: Span, what: str) -> int:
    """``span`` in milliseconds, for a broker's timer.

    Raises :exc:`~mqkit.errors.ConfigurationError` as :func:`seconds` does, for a part of a
    millisecond, and for more than :data:`~mqkit.retry.duration.MAX_DURATION_MS`.
    """
    exact_ms = seconds(span, what) * 1000
    span_ms = round(exact_ms)
    # Tenths of a second have no exact float: 1.001 s is 1000.9999999999999 ms.
    if not math.isclose(exact_ms, span_ms, rel_tol=_FLOAT_ERROR):
        raise ConfigurationError(f"{what}={span!r}: expected whole milliseconds")
    if span_ms > MAX_DURATION_MS:
        raise ConfigurationError(
            f"{what}={span!r}: a broker's timers end at {MAX_DURATION_MS} ms (49.7 days)"
        )
    return span_ms
