"""The simulator as a command.

    python -m reference_broker.simulation --seed 7       one seed, with what came of it
    python -m reference_broker.simulation --seeds 200    seeds 0 to 199, with the figures

``--seeds`` uses all processors, or ``--jobs``; what it prints does not depend on that.
A failing seed is cut short, and its story told; with ``--seeds`` the first one is. ``--cut`` runs
what a cut leaves of ``--seed``, and ``--no-cut`` looks for none.
Exits with 1 when a law was broken.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from reference_broker.simulation.cut import EXAMPLE, parse
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.report import Tally, run_in_parallel, run_seed
from reference_broker.simulation.shortening.story import story_of
from reference_broker.simulation.shortening.telling import cut_short


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds that ``arguments`` ask for (the process's, if none are given). Returns the exit
    status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.cut is not None:
        if options.seed is None:
            parser.error("--cut is for one --seed")
        try:
            return _replay(options.seed, options.cut)
        except ValueError as no_cut:
            parser.error(str(no_cut))
    if options.seed is not None:
        result = run_seed(options.seed)
        print(result.summary(), flush=True)
        failures = [result] if result.failure else []
    else:
        tally = _many(range(options.first, options.first + options.seeds), options.jobs)
        failures = tally.failures
    if failures and not options.no_cut:
        print(f"\n{cut_short(draw(failures[0].scenario.seed))}")
    return 1 if failures else 0


def _replay(seed: int, words: str) -> int:
    """Run what a cut leaves of a seed. Raises :exc:`ValueError` for words that are no cut of it."""
    result, story = story_of(draw(seed), parse(words))
    print(result.summary())
    if result.failure:
        print("\n".join(["", *story]))
    return 1 if result.failure else 0


def _many(seeds: Sequence[int], jobs: int | None) -> Tally:
    """Run the seeds, and print the failing ones as they come, and the figures."""
    tally = Tally()
    for result in run_in_parallel(seeds, jobs or os.cpu_count() or 1):
        tally.add(result)
        if result.failure:
            print(f"{result.summary()}\n", file=sys.stderr, flush=True)
    print(tally.summary(), flush=True)
    return tally


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reference_broker.simulation",
        description="The real broker over a simulated clock, network and disk.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this seed")
    which.add_argument("--seeds", type=count, help="run so many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of --seeds (0)")
    parser.add_argument("--jobs", type=count, help="processes for --seeds (all processors)")
    cutting = parser.add_mutually_exclusive_group()
    cutting.add_argument("--cut", metavar="WORDS", help=f"what is left of --seed: '{EXAMPLE}'")
    cutting.add_argument(
        "--no-cut", action="store_true", help="do not look for the least that fails as a seed does"
    )
    return parser


def count(text: str) -> int:
    """A number of seeds or processes, as an argument of a command."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one")
    return number


if __name__ == "__main__":
    sys.exit(main())
