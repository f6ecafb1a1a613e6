"""Nodes that are short of memory or disk for a while, in a share of the seeds: their alarms block
the publishers of all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from reference_broker.core.alarms import Alarm

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

SHORT_CHANCE = 1 / 3
"""Of seeds."""

EVERY_US = (1_000_000, 15_000_000)
LASTS_US = (200_000, 12_000_000)


@dataclass(slots=True, eq=False)
class Shortage:
    """A process has an alarm, from ``since_us`` on."""

    process: NodeProcess
    alarm: Alarm
    since_us: int
    ended_us: int | None = None
    """The end of the alarm, or of the process."""


def has_shortages(seed: int) -> bool:
    """True for a seed that has some."""
    return Random(f"alarms/{seed}").random() < SHORT_CHANCE


class Shortages:
    """The shortages of a world, at random. :meth:`begin` at the start, :meth:`end` with the
    faults."""

    def __init__(self, world: ClusterWorld) -> None:
        self.all: list[Shortage] = []
        """Those that there were, and those that are."""
        self._world = world
        self._random = Random(f"shortages/{world.seed}")
        self._is_over = not has_shortages(world.seed)

    @property
    def now(self) -> list[Shortage]:
        """Those that there are."""
        return [each for each in self.all if each.ended_us is None]

    def begin(self) -> None:
        """Have some from now on, if this seed has any."""
        if not self._is_over:
            self._world.counts["runs with alarms"] += 1
            self._later(EVERY_US, self._strike)

    def end(self) -> None:
        """End all, and have no more."""
        self._is_over = True
        for each in self.now:
            self._over(each)

    def _later(self, within_us: tuple[int, int], act: partial[None] | object) -> None:
        assert callable(act)
        self._world.clock.after(self._random.randint(*within_us), act)

    def _strike(self) -> None:
        if self._is_over:
            return
        self._later(EVERY_US, self._strike)
        alarm = self._random.choice(list(Alarm))
        serving = [each for each in self._world.processes.values() if each.serves]
        serving = [each for each in serving if not each.is_gone]
        if serving:
            process = self._random.choice(serving)
            process.inbox.tell(partial(self._begin, process, alarm))

    def _begin(self, process: NodeProcess, alarm: Alarm) -> None:
        is_short = any(each.process is process and each.alarm is alarm for each in self.now)
        if self._is_over or is_short:
            return
        self._world.counts[f"alarms, {alarm.value}"] += 1
        shortage = Shortage(process, alarm, self._world.clock.now_us)
        self.all.append(shortage)
        process.kill_hooks.append(partial(self._ended, shortage))
        process.broker.short_of(alarm)
        self._later(LASTS_US, partial(self._over, shortage))

    def _over(self, shortage: Shortage) -> None:
        process = shortage.process
        process.inbox.tell(partial(self._end, shortage))

    def _end(self, shortage: Shortage) -> None:
        if shortage.ended_us is None:
            self._ended(shortage)
            shortage.process.broker.short_no_more(shortage.alarm)

    def _ended(self, shortage: Shortage) -> None:
        if shortage.ended_us is None:
            shortage.ended_us = self._world.clock.now_us
