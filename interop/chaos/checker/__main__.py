"""``python -m interop.chaos.checker FOLDER [--url URL]``: hold the laws over a run's facts.

With ``--url`` the queues of the broker there are emptied first, and what was in them is written
down; without it the facts are judged as they are. Exit code 1 on any offence.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from interop.chaos.checker.judgement import history_in, judge
from interop.chaos.checker.remains import take_remains
from interop.chaos.checker.report import report
from interop.chaos.facts import REMAINS, FactsFile


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m interop.chaos.checker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", help="the broker, past any proxy")
    options = parser.parse_args()
    if options.url is not None:
        with FactsFile(options.folder / REMAINS) as facts:
            take_remains(options.url, facts)
    history = history_in(options.folder)
    verdicts = judge(history)
    print(report(history, verdicts, options.folder))
    return int(any(verdict.offences for verdict in verdicts))


if __name__ == "__main__":
    raise SystemExit(main())
