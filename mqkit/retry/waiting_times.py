"""A list of waiting times, in milliseconds: the n-th failure waits for the n-th of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS, format_duration, parse_duration

MAX_WAITING_TIMES = 32
"""More than a month of doublings needs no more."""


def checked(after: tuple[int, ...]) -> tuple[int, ...]:
    """``after`` itself, if it has 1 to :data:`MAX_WAITING_TIMES` times that never fall.

    Raises :exc:`~mqkit.errors.ConfigurationError` for any other.
    """
    if not 1 <= len(after) <= MAX_WAITING_TIMES:
        raise ConfigurationError(
            f"a retry policy has 1 to {MAX_WAITING_TIMES} waiting times, this one {len(after)}"
        )
    if after[0] < 1:
        raise ConfigurationError("a retry waits at least 1ms")
    for earlier, later in pairwise(after):
        if later < earlier:
            raise ConfigurationError(
                f"waiting times must not fall: {format_duration(later)} comes after"
                f" {format_duration(earlier)}"
            )
    if after[-1] > MAX_DURATION_MS:
        raise ConfigurationError(
            f"a retry waits at most {MAX_DURATION_MS} ms (49.7 days), not {after[-1]} ms"
        )
    return after


def parsed(after: Iterable[str]) -> tuple[int, ...]:
    """Waiting times as text (``"1s", "5s"``), checked."""
    return checked(tuple(parse_duration(text) for text in after))


def shown(after: Iterable[int]) -> str:
    """The times as people write them: ``1s, 5s``."""
    return ", ".join(map(format_duration, after))
