"""``app.stats``: the counters of all consumers of an app, added up when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple

from mqkit.consumer.stats import COUNTERS, Stats


class AppStats(Stats):
    """Has the sums of now, whenever a counter is read: keep it, and read it again. ``parts`` gives
    what is added up. Nobody counts here: a counter can't be set."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Callable[[], Iterable[Stats]]) -> None:
        self._parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stats) and astuple(self) == astuple(other)

    __hash__ = None  # type: ignore[assignment]  # as of every value that changes


def _sum_of(name: str) -> property:
    return property(lambda stats: sum(getattr(part, name) for part in stats._parts()))


for _name in COUNTERS:
    setattr(AppStats, _name, _sum_of(_name))
