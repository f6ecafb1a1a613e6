"""Durations as people write them: ``200ms``, ``5s``, ``0.5s``, ``1m30s``, ``2h``, ``1d``.

A duration is an ``int`` of milliseconds everywhere else in mqkit, because that is the unit of
``x-message-ttl``. There is one canonical spelling for each (the largest unit that divides it),
since names of queues are made from it.
"""

from __future__ import annotations

import re
from fractions import Fraction

from mqkit.errors import ConfigurationError

UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}

MAX_DURATION_MS = 2**32 - 1
"""49.7 days: the longest timer that every RabbitMQ version takes for a TTL."""

EXAMPLES = "200ms, 5s, 0.5s, 1m30s, 2h"

_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,12})?)"
_FORM = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in UNITS_MS), re.ASCII)
"""Each unit once at most, the larger before the smaller."""


def parse_duration(text: str) -> int:
    """``"1m30s"`` as 90000 milliseconds.

    Raises :exc:`~mqkit.errors.ConfigurationError` for anything that is not numbers with their
    units, larger units first, for what is not a whole number of milliseconds, and for what is
    longer than :data:`MAX_DURATION_MS`.
    """
    written = text.strip()
    match = _FORM.fullmatch(written)
    if match is None or not written:
        raise ConfigurationError(f"{text!r} is not a duration (expected something like {EXAMPLES})")
    duration_ms = sum(
        (
            Fraction(number) * unit_ms
            for number, unit_ms in zip(match.groups(), UNITS_MS.values(), strict=True)
            if number is not None
        ),
        Fraction(),
    )
    if duration_ms.denominator != 1:
        raise ConfigurationError(f"{text!r} is not a whole number of milliseconds")
    if duration_ms > MAX_DURATION_MS:
        raise ConfigurationError(
            f"{text!r} is too long (a broker's timers end at {MAX_DURATION_MS} ms, 49.7 days)"
        )
    return int(duration_ms)


def format_duration(duration_ms: int) -> str:
    """The canonical spelling: ``60000`` is ``"1m"``, ``90000`` is ``"90s"``."""
    for unit in ("d", "h", "m", "s"):
        if duration_ms and duration_ms % UNITS_MS[unit] == 0:
            return f"{duration_ms // UNITS_MS[unit]}{unit}"
    return f"{duration_ms}ms"
