"""The ``mqkit`` command, and ``python -m mqkit_cli``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from mqkit.extras import advice
from reference_broker.service.streams import give_up_stderr, open_closed_streams

COMPLETING = "_MQKIT_COMPLETE"
"""Set by the scripts of ``--install-completion``, on each Tab; typer makes the name of it."""


def main() -> None:
    """Run the command line of this process, and exit: 0, 1 for any error, or what the command
    documents."""
    _run(sys.argv[1:])


def rabbitmqctl() -> None:
    """``mqkit ctl``, for suites that want the path of one executable; exits with rabbitmqctl's
    code."""
    _run(["ctl", *sys.argv[1:]])


def _run(words: Sequence[str]) -> None:
    open_closed_streams()
    if COMPLETING in os.environ:  # somebody is in the middle of typing a line
        give_up_stderr()
    try:
        from mqkit_cli.errors import run_guarded

        run = _program(words)
    except ModuleNotFoundError as missing:
        # The script is there after `pip install mqkit`, what it is made of is not.
        if missing.name == "mqkit_bench":
            sys.exit(
                "mqkit: the benchmarks are no part of an installed mqkit; clone its repository, run"
                " `make install` in it, and then .venv/bin/mqkit bench"
            )
        line = advice(missing, "cli")
        if line is None:
            raise
        sys.exit(f"mqkit: {line}")
    sys.exit(run_guarded(run))


def _program(words: Sequence[str]) -> Callable[[], object]:
    """The function that runs ``words``. Suites and scripts start ``ctl`` again and again, so it
    doesn't wait until all that the other commands need is loaded; and a running broker doesn't keep
    that in memory."""
    if words[:1] == ["ctl"]:
        from mqkit_cli.ctl.main import run

        return partial(run, words[1:])
    if words[:1] == ["bench"]:
        from mqkit_bench.main import run as run_bench

        return partial(run_bench, words[1:])
    if words[:2] == ["broker", "run"]:
        from mqkit_cli.broker.run import app_of_its_own

        return partial(app_of_its_own(), words, prog_name="mqkit", standalone_mode=False)
    from mqkit_cli.app import app

    return partial(app, words, prog_name="mqkit", standalone_mode=False)


if __name__ == "__main__":
    main()
