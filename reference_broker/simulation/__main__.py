"""The simulator as a command.

    python -m reference_broker.simulation --seed 7       one seed, with what came of it
    python -m reference_broker.simulation --seeds 200    seeds 0 to 199, with the figures

``--seeds`` uses all processors, or ``--jobs``; what it prints does not depend on that.
Exits with 1 when a law was broken.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from reference_broker.simulation.report import Tally, run_in_parallel, run_seed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds that ``arguments`` ask for (the process's, if none are given). Returns the exit
    status."""
    parser = argparse.ArgumentParser(
        prog="python -m reference_broker.simulation",
        description="The real broker over a simulated clock, network and disk.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this seed")
    which.add_argument("--seeds", type=_count, help="run so many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of --seeds (0)")
    parser.add_argument("--jobs", type=_count, help="processes for --seeds (all processors)")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        result = run_seed(options.seed)
        print(result.summary())
        return 1 if result.failure else 0
    tally = Tally()
    seeds = range(options.first, options.first + options.seeds)
    for result in run_in_parallel(seeds, options.jobs or os.cpu_count() or 1):
        tally.add(result)
        if result.failure:
            print(f"{result.summary()}\n", file=sys.stderr, flush=True)
    print(tally.summary())
    return 1 if tally.failures else 0


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least one")
    return count


if __name__ == "__main__":
    sys.exit(main())
