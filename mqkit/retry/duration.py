"""Durations as people write them: ``200ms``, ``5s``, ``0.5s``, ``1m30s``, ``2h``, ``1d``.

A duration is an ``int`` of milliseconds everywhere else in mqkit, because that is the unit of
``x-message-ttl``. There is one canonical spelling for each (the largest unit that divides it),
since names of queues are made from it.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from mqkit.errors import ConfigurationError

UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}

MAX_DURATION_MS = 2**32 - 1
"""49.7 days: the longest timer that every RabbitMQ version takes for a TTL."""

EXAMPLES = "200ms, 5s, 0.5s, 1m30s, 2h"

DurationText: TypeAlias = Literal[
    "0s", "1ms", "2ms", "3ms", "5ms", "10ms", "15ms", "20ms", "25ms", "30ms", "40ms", "50ms",
    "60ms", "75ms", "80ms", "100ms", "150ms", "200ms", "250ms", "300ms", "400ms", "500ms", "600ms",
    "700ms", "750ms", "800ms", "900ms", "1500ms",
    "0.1s", "0.2s", "0.3s", "0.4s", "0.5s", "0.6s", "0.7s", "0.8s", "0.9s", "0.25s", "0.75s",
    "1.5s", "2.5s", "1s", "2s", "3s", "4s", "5s", "6s", "7s", "8s", "9s", "10s", "11s", "12s",
    "13s", "14s", "15s", "16s", "17s", "18s", "19s", "20s", "21s", "22s", "23s", "24s", "25s",
    "26s", "27s", "28s", "29s", "30s", "31s", "32s", "33s", "34s", "35s", "36s", "37s", "38s",
    "39s", "40s", "41s", "42s", "43s", "44s", "45s", "46s", "47s", "48s", "49s", "50s", "51s",
    "52s", "53s", "54s", "55s", "56s", "57s", "58s", "59s", "60s", "75s", "90s", "100s", "120s",
    "150s", "180s", "240s", "300s", "600s", "900s", "1200s", "1800s", "3600s",
    "0.5m", "1.5m", "2.5m", "1m30s", "2m30s", "1m", "2m", "3m", "4m", "5m", "6m", "7m", "8m", "9m",
    "10m", "11m", "12m", "13m", "14m", "15m", "16m", "17m", "18m", "19m", "20m", "21m", "22m",
    "23m", "24m", "25m", "26m", "27m", "28m", "29m", "30m", "31m", "32m", "33m", "34m", "35m",
    "36m", "37m", "38m", "39m", "40m", "41m", "42m", "43m", "44m", "45m", "46m", "47m", "48m",
    "49m", "50m", "51m", "52m", "53m", "54m", "55m", "56m", "57m", "58m", "59m", "60m", "75m",
    "90m", "120m",
    "0.5h", "1.5h", "2.5h", "1h30m", "2h30m", "1h", "2h", "3h", "4h", "5h", "6h", "7h", "8h", "9h",
    "10h", "11h", "12h", "13h", "14h", "15h", "16h", "17h", "18h", "19h", "20h", "21h", "22h",
    "23h", "24h", "36h", "48h", "72h",
    "0.5d", "1.5d", "1d", "2d", "3d", "4d", "5d", "6d", "7d", "8d", "9d", "10d", "11d", "12d",
    "13d", "14d", "15d", "16d", "17d", "18d", "19d", "20d", "21d", "22d", "23d", "24d", "25d",
    "26d", "27d", "28d", "29d", "30d", "31d",
]  # fmt: skip
"""The durations that type checkers take as text: those that people write, so that others are errors
in the editor. When the program runs, any that :func:`parse_duration` reads is taken."""

_DIGITS = 12
_SCALE = 1_000_000_000_000
"""Numbers are integers in this fraction: no digit is lost, and `import fractions` takes 5 ms."""
_NUMBER = rf"([0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{1,{_DIGITS}}})?)"
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
    parts = zip(match.groups(), UNITS_MS.values(), strict=True)
    scaled = sum(_scaled(number) * unit_ms for number, unit_ms in parts if number is not None)
    duration_ms, rest = divmod(scaled, _SCALE)
    if rest:
        raise ConfigurationError(f"{text!r} is not a whole number of milliseconds")
    if duration_ms > MAX_DURATION_MS:
        raise ConfigurationError(
            f"{text!r} is too long (a broker's timers end at {MAX_DURATION_MS} ms, 49.7 days)"
        )
    return duration_ms


def _scaled(number: str) -> int:
    whole, _, fraction = number.partition(".")
    return int(whole) * _SCALE + int(fraction.ljust(_DIGITS, "0"))


def format_duration(duration_ms: int) -> str:
    """The canonical spelling: ``60000`` is ``"1m"``, ``90000`` is ``"90s"``."""
    for unit in ("d", "h", "m", "s"):
        if duration_ms and duration_ms % UNITS_MS[unit] == 0:
            return f"{duration_ms // UNITS_MS[unit]}{unit}"
    return f"{duration_ms}ms"
