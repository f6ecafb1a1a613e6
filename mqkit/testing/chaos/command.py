"""``python -m mqkit.testing chaos -- COMMAND``: run a command behind a link that breaks.

The command finds its broker in ``MQKIT_URL``, which leads through a proxy to the one that
``MQKIT_URL`` or ``--url`` names. The seed and each fault are told on stderr. The exit code is the
command's, and 128 and the signal's number where one ended it (0 for SIGTERM, which ends a command
that runs on when the time is over). SIGTERM and Ctrl-C end the command.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Sequence

from mqkit.errors import ConfigurationError
from mqkit.testing.chaos.run import Options, run
from mqkit.url import parse

DEFAULT_URL = "amqp://guest:guest@127.0.0.1:5672/"


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code. Ends the program with 2 where there is no command."""
    asked = _parser().parse_args(arguments)
    seed = secrets.randbelow(1 << 32) if asked.seed is None else asked.seed
    try:
        parse(asked.url)
    except ConfigurationError as error:
        _tell(str(error))
        return 1
    _tell(f"--seed {seed}")
    options = Options(asked.url, seed, asked.seconds, asked.quiet)
    try:
        code = asyncio.run(run([asked.command, *asked.arguments], options, _tell))
    except OSError as error:
        _tell(f"{asked.command}: {error.strerror}")
        return 1
    if code == -signal.SIGTERM:
        return 0
    return code if code >= 0 else 128 - code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mqkit.testing chaos",
        description="Run a command behind a link to its broker that breaks.",
    )
    parser.add_argument(
        "--url",
        default=os.environ.get("MQKIT_URL", DEFAULT_URL),
        help="the broker (else MQKIT_URL)",
    )
    parser.add_argument("--seed", type=int, help="the same seed gives the same faults")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for so long there are faults (60)"
    )
    parser.add_argument(
        "--quiet", type=float, default=10.0, metavar="SECONDS", help="and then so long none (10)"
    )
    parser.add_argument("command", metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    return parser


def _tell(line: str) -> None:
    print(f"chaos: {line}", file=sys.stderr, flush=True)
