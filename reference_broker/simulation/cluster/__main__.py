"""The simulator of several nodes as a command.

    python -m reference_broker.simulation.cluster --seeds 300
    python -m reference_broker.simulation.cluster --first 7 --seeds 1

Exits with 1 when a law was broken.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Sequence

from reference_broker.simulation.cluster.world import ClusterResult, ClusterWorld


def played(seed: int) -> ClusterResult:
    """The result of a seed."""
    return ClusterWorld(seed).run()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the seeds that ``arguments`` ask for (the process's, if none are given). Returns the
    exit status."""
    parser = argparse.ArgumentParser(prog="python -m reference_broker.simulation.cluster")
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    counts: Counter[str] = Counter()
    failed = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for result in pool.imap(played, seeds):
            counts += result.counts
            if result.failure is not None:
                failed += 1
                print(f"seed {result.seed}: {result.failure}", file=sys.stderr, flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:>10,}  {name}")
    print(f"{len(seeds)} cluster seeds, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
