"""Durations as people write them: ``200ms``, ``5s``, ``1m``, ``2h``, ``1d``.

A duration is an ``int`` of milliseconds everywhere else in mqkit, because that is the unit of
``x-message-ttl``. There is one canonical spelling for each (the largest unit that divides it),
since names of queues are made from it.
"""

from __future__ import annotations

import re

from mqkit.errors import ConfigurationError

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

MAX_DURATION_MS = 2**32 - 1
"""49.7 days: the longest timer that every RabbitMQ version takes for a TTL."""

EXAMPLES = "200ms, 5s, 1m, 2h"

_FORM = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)", re.ASCII)


def parse_duration(text: str) -> int:
    """``"5s"`` as 5000 milliseconds.

    Raises :exc:`~mqkit.errors.ConfigurationError` for anything that is not a whole number and a
    unit, or is longer than :data:`MAX_DURATION_MS`.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ConfigurationError(f"{text!r} is not a duration (expected something like {EXAMPLES})")
    duration_ms = int(match[1]) * UNITS_MS[match[2]]
    if duration_ms > MAX_DURATION_MS:
        raise ConfigurationError(
            f"{text!r} is too long (a broker's timers end at {MAX_DURATION_MS} ms, 49.7 days)"
        )
    return duration_ms


def format_duration(duration_ms: int) -> str:
    """The canonical spelling: ``60000`` is ``"1m"``, ``90000`` is ``"90s"``."""
    for unit in ("d", "h", "m", "s"):
        if duration_ms and duration_ms % UNITS_MS[unit] == 0:
            return f"{duration_ms // UNITS_MS[unit]}{unit}"
    return f"{duration_ms}ms"
