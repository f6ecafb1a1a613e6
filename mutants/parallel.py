"""Hunts for many mutants at once, and censuses of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from mutants.hunting import Census, Hunt, hunt, take_census
from mutants.mutant import Mutant
from mutants.registry import MUTANTS

Result = TypeVar("Result")


def hunted(mutants: Sequence[Mutant], seeds: int, jobs: int) -> Iterator[Hunt]:
    """The end of each hunt as it comes. Each has a process of its own: patches of one are never
    there for another."""
    yield from _each(_hunt, mutants, seeds, jobs)


def counted(mutants: Sequence[Mutant], seeds: int, jobs: int) -> Iterator[Census]:
    """The census of each mutant as it comes, in a process of its own."""
    yield from _each(_count, mutants, seeds, jobs)


def _each(
    work: Callable[[str, int], Result], mutants: Sequence[Mutant], seeds: int, jobs: int
) -> Iterator[Result]:
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = [pool.submit(work, mutant.name, seeds) for mutant in mutants]
        for future in as_completed(futures):
            yield future.result()


def _hunt(name: str, seeds: int) -> Hunt:
    return hunt(MUTANTS[name], range(seeds))


def _count(name: str, seeds: int) -> Census:
    return take_census(MUTANTS[name], range(seeds))
