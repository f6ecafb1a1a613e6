"""The hunt for planted bugs as a command.

    python -m mutants                       all of them
    python -m mutants store.no_sync runs    those whose names begin so
    python -m mutants --census --seeds 60   each on 60 seeds, whichever law finds it in each

Each is played on seeds from 0 on until a law finds it. What has ended is kept in a file, by mutant
and by the version of the code: a command that was interrupted goes on where it was.
Exits with 1 when a mutant is not found. A census is begun anew each time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mutants.mutant import Mutant
from mutants.parallel import counted, hunted
from mutants.registry import MUTANTS
from mutants.results import Results, code_version
from mutants.table import census_line_of, census_table_of, line_of, table_of
from reference_broker.simulation.__main__ import count

SEEDS = 200
JOBS = 2
RESULTS = Path("mutants-results.jsonl")
"""Ignored by git."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt as ``arguments`` say (the process's, if none are given). Returns the exit status."""
    options = _parser().parse_args(arguments)
    wanted = _named(options.names)
    if not wanted:
        print(f"no mutant begins with {' or '.join(options.names)}", file=sys.stderr)
        return 2
    if options.census:
        return _census(wanted, options.seeds, options.jobs)
    results = Results(options.results, code_version())
    ended = results.of(wanted, options.seeds)
    for known in ended:
        print(line_of(known))
    names = {known.mutant for known in ended}
    rest = [mutant for mutant in wanted if mutant.name not in names]
    print(f"{len(ended)} known, {len(rest)} to be hunted", flush=True)
    for found in hunted(rest, options.seeds, options.jobs):
        results.add(MUTANTS[found.mutant], found)
        print(line_of(found), flush=True)
    hunts = results.of(wanted, options.seeds)
    print(f"\n{table_of(hunts)}")
    return 0 if all(each.law for each in hunts) else 1


def _census(wanted: Sequence[Mutant], seeds: int, jobs: int) -> int:
    censuses = []
    for census in counted(wanted, seeds, jobs):
        censuses.append(census)
        print(census_line_of(census), flush=True)
    print(f"\n{census_table_of(censuses)}")
    return 0 if all(each.failures for each in censuses) else 1


def _named(beginnings: Sequence[str]) -> list[Mutant]:
    return [
        mutant
        for name, mutant in MUTANTS.items()
        if not beginnings or name.startswith(tuple(beginnings))
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mutants", description="Planted bugs, and the simulator that finds them."
    )
    parser.add_argument("names", nargs="*", help="how their names begin (all)")
    parser.add_argument("--seeds", type=count, default=SEEDS, help=f"for each ({SEEDS})")
    parser.add_argument("--jobs", type=count, default=JOBS, help=f"processes ({JOBS})")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"the file ({RESULTS})")
    parser.add_argument(
        "--census", action="store_true", help="play every seed, and count the laws that fail first"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
