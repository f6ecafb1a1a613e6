"""The ``mqkit`` command, and ``python -m mqkit_cli``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial


def main() -> None:
    """Run the command line of this process, and exit: 0, 1 for any error, or what the command
    documents."""
    _open_closed_streams()
    try:
        from mqkit_cli.errors import run_guarded

        run = _program(sys.argv[1:])
    except ModuleNotFoundError as missing:
        # The script is there after `pip install mqkit`, what it is made of is not.
        package = (missing.name or "").partition(".")[0]
        if package == "mqkit_bench":
            sys.exit(
                "mqkit: the benchmarks are no part of an installed mqkit; clone its repository, run"
                " `make install` in it, and then .venv/bin/mqkit bench"
            )
        if package in {"mqkit", "mqkit_cli", "reference_broker"}:
            raise
        sys.exit(f"mqkit: {missing.name} is not installed; run: pip install 'mqkit[cli]'")
    sys.exit(run_guarded(run))


def _program(words: list[str]) -> Callable[[], object]:
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

        return partial(app_of_its_own(), prog_name="mqkit", standalone_mode=False)
    from mqkit_cli.app import app

    return partial(app, prog_name="mqkit", standalone_mode=False)


def _open_closed_streams() -> None:
    """``mqkit ... <&-``: Python has no stream then, and a socket could get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


if __name__ == "__main__":
    main()
