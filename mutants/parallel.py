"""Hunts for many mutants at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from mutants.hunting import Hunt, hunt
from mutants.mutant import Mutant
from mutants.registry import MUTANTS


def hunted(mutants: Sequence[Mutant], seeds: int, jobs: int) -> Iterator[Hunt]:
    """The end of each hunt as it comes. Each has a process of its own: patches of one are never
    there for another."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = [pool.submit(_hunt, mutant.name, seeds) for mutant in mutants]
        for future in as_completed(futures):
            yield future.result()


def _hunt(name: str, seeds: int) -> Hunt:
    return hunt(MUTANTS[name], range(seeds))
