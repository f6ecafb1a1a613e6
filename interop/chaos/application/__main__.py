"""``python -m interop.chaos.application``: started by a run, which talks to it over its pipes.

It prints ``ready``, works until a line comes on stdin, ends the app, prints ``ended``, and goes
with the next line.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from pathlib import Path

from interop.chaos.application.program import run
from interop.chaos.facts import APPLICATION, FactsFile


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m interop.chaos.application")
    parser.add_argument("--url", required=True)
    parser.add_argument("--transport", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(relativeCreated)d %(levelname)s %(name)s: %(message)s"
    )
    for library in ("aio_pika", "aiormq", "pika", "asyncio"):
        logging.getLogger(library).setLevel(logging.WARNING)
    with FactsFile(options.folder / APPLICATION) as facts:
        asyncio.run(run(options.url, options.transport, options.folder, facts, options.seed))


if __name__ == "__main__":
    main()
