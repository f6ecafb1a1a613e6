"""The plot of a round: names, waits, and the seconds at which all has to happen."""

from __future__ import annotations

from collections.abc import Callable

TIERS_S = (10, 30, 60, 120, 300)
EXPIRES_S = 45
DELAY_S = 90
LIMIT_S = 30
"""The time that the slow handler has; it would need an hour."""

FIRST_PART_S = 9
SECOND_PART_S = 600

WORK, PARKED, SLOW, GIVEN_UP = "work", "work.parked", "slow", "slow.given-up"
SHORT, EXPIRED, LATER, DELAYED = "short", "expired", "later", "delayed"
EXCHANGE_TYPE = "x-delayed-message"

Happened = tuple[str, float]
Note = Callable[[str], None]

EXPECTED: tuple[Happened, ...] = (
    ("attempt", 0),
    ("slow begins", 0),
    ("attempt", 10),
    ("slow is given up", 30),
    ("attempt", 40),
    ("expired", 45),
    ("delayed", 90),
    ("attempt", 100),
    ("attempt", 220),
    ("attempt", 520),
    ("parked", 520),
)
"""All that happens, in order; what happens at once is in the order of the names."""


class Notes:
    """Things that have happened, with their seconds since the beginning."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s, self._start_s = now_s, now_s()
        self._happened: list[Happened] = []

    def note(self, name: str) -> None:
        """Thread-safe."""
        self._happened.append((name, round(self._now_s() - self._start_s, 3)))

    def in_order(self) -> tuple[Happened, ...]:
        return tuple(sorted(self._happened, key=lambda each: (each[1], each[0])))
