"""The hunt for one mutant: seed after seed, until a law finds it. And its census: all of the seeds,
whichever law finds it in each."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from types import FrameType

import pytest

from mutants.mutant import Mutant
from reference_broker.simulation.report import SeedResult, run_world
from reference_broker.simulation.world import World

SEED_SECONDS = 300.0
"""Seconds of real time for one seed, which takes one or two: a bug may make an endless loop, and
then the hunt for the others has to go on."""


class Endless(Exception):
    """A seed took more than :data:`SEED_SECONDS`."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """The end of a hunt. ``law`` found the mutant, with the last of ``seeds`` seeds; it is empty
    where none did. ``failures`` are the broken laws of all these seeds, with the number of
    seeds."""

    mutant: str
    law: str
    seeds: int
    failures: dict[str, int]


def hunt(mutant: Mutant, seeds: Iterable[int], seconds: float = SEED_SECONDS) -> Hunt:
    """Play the mutant on ``seeds`` until a law finds it that should. Patches this process
    meanwhile. Where ``seconds`` are over in a seed, that is a failure of it, too: the caller must
    be the main thread."""
    laws: list[str] = []
    with closing(_play(mutant, seeds, seconds)) as results:
        for result in results:
            laws.append(_law_of(result))
            if mutant.is_found_by(result):
                return Hunt(mutant.name, result.law, len(laws), _counted(laws))
    return Hunt(mutant.name, "", len(laws), _counted(laws))


@dataclass(frozen=True, slots=True)
class Census:
    """The ``failures`` of a mutant in ``seeds`` seeds: the first law that each of them broke, with
    the number of seeds."""

    mutant: str
    seeds: int
    failures: dict[str, int]

    @property
    def only_law(self) -> str:
        """The law that every failure broke; empty where there are several, or none."""
        return next(iter(self.failures)) if len(self.failures) == 1 else ""


def take_census(mutant: Mutant, seeds: Iterable[int], seconds: float = SEED_SECONDS) -> Census:
    """Play the mutant on all of ``seeds``. See :func:`hunt` for the rest."""
    laws = [_law_of(result) for result in _play(mutant, seeds, seconds)]
    return Census(mutant.name, len(laws), _counted(laws))


def _play(
    mutant: Mutant, seeds: Iterable[int], seconds: float
) -> Generator[SeedResult, None, None]:
    with pytest.MonkeyPatch.context() as patch:
        mutant.plant(patch)
        for seed in seeds:
            with _no_longer_than(seconds):
                result = run_world(World(mutant.worlds(seed)))
            yield result


def _law_of(result: SeedResult) -> str:
    """The law that the seed broke; empty where it broke none."""
    return result.law if result.failure else ""


def _counted(laws: Iterable[str]) -> dict[str, int]:
    return dict(Counter(filter(None, laws)))


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    """Raise :exc:`Endless` in what is still at work then."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Endless(f"{seconds:g} s, and the seed is not over")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
