"""Waiting times that grow: the first one, and each a factor longer than the one before. Pure.

They are fixed when the policy is made, since a TTL belongs to a queue. Jitter gives each of them a
shorter and a longer neighbour, fixed too and with tiers of their own; one of the three is drawn at
each failure.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS, format_duration
from mqkit.retry.waiting_times import MAX_WAITING_TIMES

MAX_FACTOR = 1_000
"""From a millisecond to the longest duration in four steps."""
MAX_JITTER = 0.99
"""A share of the waiting time, of which something has to be left."""


@dataclass(frozen=True, slots=True)
class Growth:
    """``times`` waiting times from ``from_ms`` on, none above ``most_ms``; all in milliseconds.

    ``jitter`` is a share of the waiting time: with 0.2, a minute has the neighbours 48 s and 72 s.
    Raises :exc:`~mqkit.errors.ConfigurationError` for numbers out of range.
    """

    from_ms: int
    times: int
    factor: float = 2
    most_ms: int = MAX_DURATION_MS
    jitter: float = 0

    def __post_init__(self) -> None:
        if not 1 <= self.from_ms <= MAX_DURATION_MS:
            raise ConfigurationError("the first waiting time is 1ms to 49.7 days")
        if not 1 <= self.times <= MAX_WAITING_TIMES:
            raise ConfigurationError(
                f"times is the number of retries, 1 to {MAX_WAITING_TIMES}, not {self.times}"
            )
        if not 1 <= self.factor <= MAX_FACTOR:
            raise ConfigurationError(f"a factor is 1 to {MAX_FACTOR}, not {self.factor}")
        if not 0 <= self.jitter <= MAX_JITTER:
            raise ConfigurationError(f"jitter is 0 to {MAX_JITTER}, not {self.jitter}")
        if not self.from_ms <= self.most_ms <= MAX_DURATION_MS:
            raise ConfigurationError(
                f"the most, {format_duration(self.most_ms)}, is not between the first waiting time,"
                f" {format_duration(self.from_ms)}, and 49.7 days"
            )

    @property
    def after(self) -> tuple[int, ...]:
        """The waiting times without jitter, rounded to whole milliseconds."""
        from fractions import Fraction  # 5 ms, which few programs need

        factor = Fraction(str(self.factor))
        found, wait = [], Fraction(self.from_ms)
        for _ in range(self.times):
            found.append(round(wait))
            wait = min(wait * factor, Fraction(self.most_ms))
        return tuple(found)

    def neighbours(self, after_ms: int) -> tuple[int, ...]:
        """The tiers that one of the waiting times may be, shortest first: it alone without jitter.

        The longer one is never above ``most_ms``, the shorter one never below a millisecond.
        """
        from fractions import Fraction

        share = Fraction(str(self.jitter))
        shorter = max(1, round(after_ms * (1 - share)))
        longer = min(self.most_ms, round(after_ms * (1 + share)))
        return tuple(sorted({shorter, after_ms, longer}))
