"""Running seeds, one or many, and their results in words."""

from __future__ import annotations

import gc
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from reference_broker.simulation.cut import Cut
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World

_US_PER_HOUR = 3_600_000_000

GARBAGE_THRESHOLD = 20_000
"""Objects that a worker makes between two looks for garbage. A world is thrown away as a whole, and
most of what it makes until then is kept, so most looks are in vain."""

WorldFactory = Callable[[int], World]


def world_of(seed: int) -> World:
    """The world of a seed, as the command line runs it."""
    return World(draw(seed))


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The result of one seed. ``failure`` is the broken law, or a traceback of the broker's; empty
    when all held."""

    scenario: Scenario
    """The scenario that was run: the seed's, with the queues, features and time of the cut."""
    cut: Cut
    virtual_us: int
    counts: Counter[str]
    faults: Counter[str]
    gone: Counter[str]
    """Confirmed messages that are gone, by their fate."""
    trace_hash: str
    failure: str
    law: str
    """The name of the checker or feature whose law was broken, or where the broker failed: the
    error, and the function that raised it. Empty when all held."""
    lost: int

    @property
    def replay(self) -> str:
        """The command that runs exactly this again."""
        command = f"python -m reference_broker.simulation --seed {self.scenario.seed}"
        words = self.cut.words()
        return f'{command} --cut "{words}"' if words else command

    def summary(self) -> str:
        """The run in a few lines."""
        scenario = self.scenario
        queues = ", ".join(queue.name for queue in scenario.queues)
        lines = [
            f"seed      {scenario.seed}",
            f"scenario  {len(self.cut.clients_of(scenario))} clients; queues {queues}; "
            f"segments of {scenario.broker.segment_bytes} bytes, windows of "
            f"{scenario.broker.window_bytes}, memory of {scenario.broker.memory_bytes}",
            f"time      {self.virtual_us / 1_000_000:.3f} virtual seconds",
            f"events    {_listed(self.counts)}",
            f"faults    {_listed(self.faults)}",
            f"gone      {_listed(self.gone)}",
            f"trace     {self.trace_hash}",
            f"lost      {self.lost}",
            f"FAILED    {self.failure.strip()}" if self.failure else "ok        every law held",
        ]
        return "\n".join(lines)


@dataclass(slots=True)
class Tally:
    """The results of many seeds together."""

    seeds: int = 0
    virtual_us: int = 0
    lost: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)
    failures: list[SeedResult] = field(default_factory=list)

    def add(self, result: SeedResult) -> None:
        self.seeds += 1
        self.virtual_us += result.virtual_us
        self.lost += result.lost
        self.counts += result.counts
        self.faults += result.faults
        self.gone += result.gone
        if result.failure:
            self.failures.append(result)

    def summary(self) -> str:
        """The figures, and for each failing seed what broke and the line that replays it."""
        lines = [
            f"seeds          {self.seeds}, {len(self.failures)} failed",
            f"virtual hours  {self.virtual_us / _US_PER_HOUR:.2f}",
            f"faults         {_listed(self.faults)}",
            f"events         {_listed(self.counts)}",
            f"confirmed      {self.counts['confirmed']}",
            f"gone           {_listed(self.gone)}",
            f"lost           {self.lost}",
        ]
        for result in self.failures:
            reason = result.failure.strip().splitlines()[-1]
            lines += [f"FAILED  seed {result.scenario.seed}: {reason}", f"  {result.replay}"]
        return "\n".join(lines)


def run_seed(seed: int, make: WorldFactory = world_of) -> SeedResult:
    """Run one seed to its end, or to the first law that is broken. Never raises for that."""
    return run_world(make(seed))


def run_world(world: World) -> SeedResult:
    """Run a new world to its end, or to the first law that is broken. Never raises for that."""
    failure = law = ""
    lost = 0
    try:
        world.run()
    except Violation as violation:
        failure, law, lost = str(violation), violation.checker, violation.lost
    except Exception as error:  # noqa: BLE001 - whatever the broker raises is a finding, not the end
        failure, law = traceback.format_exc(), _raised(error)
    return SeedResult(
        scenario=world.scenario,
        cut=world.cut,
        virtual_us=world.clock.now_us,
        counts=world.counts,
        faults=world.fault_counts,
        gone=world.durability.gone,
        trace_hash=world.history.trace_hash,
        failure=failure,
        law=law,
        lost=lost,
    )


def _raised(error: Exception) -> str:
    *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
    return f"{type(error).__name__} in {innermost.f_code.co_qualname}"


def run_seeds(seeds: Iterable[int], make: WorldFactory = world_of) -> Tally:
    """Run all ``seeds``, failing or not."""
    tally = Tally()
    for seed in seeds:
        tally.add(run_seed(seed, make))
    return tally


def run_in_parallel(seeds: Sequence[int], jobs: int) -> Iterator[SeedResult]:
    """The result of each seed, in their order, with ``jobs`` processes at work. A result does not
    depend on the others."""
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    with ProcessPoolExecutor(jobs, initializer=look_for_garbage_rarely) as pool:
        yield from pool.map(run_seed, seeds, chunksize=4)


def look_for_garbage_rarely() -> None:
    """Make this process, which plays one world after another, spend less on garbage collection."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
