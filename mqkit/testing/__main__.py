"""``python -m mqkit.testing -- COMMAND``: run a command beside a RabbitMQ of its own.

The command finds it in ``MQKIT_TEST_RABBITMQ_URL`` and ``MQKIT_TEST_RABBITMQ_MANAGEMENT_URL``. The
exit code is the command's; the RabbitMQ is gone afterwards, however the command ended. SIGTERM and
Ctrl-C end the command, and then the RabbitMQ.

``--statistics-every SECONDS`` before the ``--``: the counts of a local node's management API are at
most that old, instead of RabbitMQ's 5 s.

``python -m mqkit.testing chaos -- COMMAND``: see :mod:`mqkit.testing.chaos.command`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import NoReturn

from mqkit.testing.rabbitmq import (
    MANAGEMENT_URL_VARIABLE,
    URL_VARIABLE,
    RabbitMQUnavailable,
    rabbitmq,
)

STOP_TIMEOUT_S = 30.0
"""A command that has not gone this long after SIGTERM is killed."""


def main(arguments: list[str]) -> int:
    """Returns the exit code: the command's, or 1 when no RabbitMQ could be had."""
    if arguments[:1] == ["chaos"]:
        from mqkit.testing.chaos.command import main as chaos

        return chaos(arguments[1:])
    options = _parser().parse_args(arguments)
    command = [options.command, *options.arguments]
    try:
        with rabbitmq(statistics_every_s=options.statistics_every) as broker:
            environment = {**os.environ, URL_VARIABLE: broker.url}
            if broker.management_url:
                environment[MANAGEMENT_URL_VARIABLE] = broker.management_url
            return _run(command, environment)
    except RabbitMQUnavailable as why:
        print(f"mqkit.testing: {why}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    """Ends the program with exit code 2 where there is no command."""
    parser = argparse.ArgumentParser(
        prog="python -m mqkit.testing", description="Run a command beside a RabbitMQ of its own."
    )
    parser.add_argument(
        "--statistics-every",
        type=_positive,
        metavar="SECONDS",
        help="a local node's management API tells counts that are at most so old (RabbitMQ's: 5)",
    )
    parser.add_argument("command", metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    return parser


def _positive(text: str) -> float:
    seconds = float(text)
    if not 0.001 <= seconds < 3600:
        raise ValueError
    return seconds


def _run(command: list[str], environment: Mapping[str, str]) -> int:
    """The command's exit code. It does not outlive this call, whatever ends that."""
    process = subprocess.Popen(command, env=environment)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _end(number: int, frame: object) -> NoReturn:
    """SIGTERM: the blocks that are open end what they started. A second one must not end them."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main(sys.argv[1:]))
