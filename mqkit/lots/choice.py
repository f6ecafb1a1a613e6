"""A choice of a lot's messages: all conditions that are set must hold; none set means every one."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from mqkit.errors import ConfigurationError
from mqkit.lots.facts import FactsOf
from mqkit.lots.parked_time import age_ms, bare
from mqkit.lots.where.conditions import Condition
from mqkit.lots.where.evaluation import holds
from mqkit.message import Delivery
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage, Selection

SAMPLE_MAX = 1_000
"""A sample is in memory until the lot has been read to its end."""

SAMPLE_OCTETS_MAX = 64 * 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """``selection`` is by id, reason and error; ``headers`` must be equal, by their text. A message
    whose age nobody knows is neither older nor younger than anything. ``attempts_min`` are the
    attempts that failed at least. ``sample`` takes so many of the chosen by chance, the same ones
    for the same ``seed`` and lot; ``limit`` the first so many.

    Raises :exc:`~mqkit.errors.ConfigurationError` for counts below 1.
    """

    selection: Selection = field(default_factory=Selection)
    headers: Mapping[str, str] = field(default_factory=dict)
    where: Condition | None = None
    older_than_ms: int | None = None
    younger_than_ms: int | None = None
    attempts_min: int | None = None
    sample: int | None = None
    seed: int | None = None
    limit: int | None = None
    known: KnownLots = field(default_factory=KnownLots)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigurationError(f"a limit is at least 1, not {self.limit}")
        if self.sample is not None and not 1 <= self.sample <= SAMPLE_MAX:
            raise ConfigurationError(f"a sample has 1 to {SAMPLE_MAX} messages, not {self.sample}")

    def matches(self, delivery: Delivery, lot: str, now: datetime) -> bool:
        """True if all conditions but sample and limit hold. Never raises."""
        return self._age_fits(delivery, now) and self._fits(delivery, lot, now)

    def at(self, lot: str, now: datetime) -> Callable[[Delivery], bool]:
        """:meth:`matches` for a lot and a time."""
        return lambda delivery: self.matches(delivery, lot, now)

    def _age_fits(self, delivery: Delivery, now: datetime) -> bool:
        if self.older_than_ms is None and self.younger_than_ms is None:
            return True
        age = age_ms(delivery.headers, now)
        if age is None:
            return False
        old_enough = self.older_than_ms is None or age > self.older_than_ms
        return old_enough and (self.younger_than_ms is None or age < self.younger_than_ms)

    def _fits(self, delivery: Delivery, lot: str, now: datetime) -> bool:
        message = ParkedMessage.of(delivery, lot, self.known)
        if not self.selection.matches(message):
            return False
        if self.attempts_min is not None and message.attempts < self.attempts_min:
            return False
        seen = delivery.headers
        for name, text in self.headers.items():
            if name not in seen or str(bare(seen[name])) != text:
                return False
        return self.where is None or holds(self.where, FactsOf(message, now))


class Reservoir:
    """So many of those that are offered, each with the same chance (Vitter's algorithm R)."""

    def __init__(self, size: int, seed: int | None) -> None:
        self._size = size
        self._dice = random.Random(seed)
        self._offered = 0
        self._kept: dict[int, tuple[int, Delivery]] = {}
        self._octets = 0

    def offer(self, delivery: Delivery) -> bool:
        """Never true: nothing is chosen before all have been offered. Raises
        :exc:`~mqkit.errors.ConfigurationError` where the sample does not fit into memory."""
        place = (
            self._offered if self._offered < self._size else self._dice.randint(0, self._offered)
        )
        self._offered += 1
        if place < self._size:
            if place in self._kept:
                self._octets -= len(self._kept[place][1].body)
            self._kept[place] = (self._offered, delivery)
            self._octets += len(delivery.body)
            if self._octets > SAMPLE_OCTETS_MAX:
                raise ConfigurationError(
                    f"a sample of {self._size} of these is more than {SAMPLE_OCTETS_MAX} bytes:"
                    " take a smaller one"
                )
        return False

    @property
    def kept(self) -> list[Delivery]:
        """The sample, in the order of the lot."""
        return [delivery for _, delivery in sorted(self._kept.values(), key=lambda each: each[0])]
