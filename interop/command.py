"""The command line of a run: a seed that is printed, a folder that stays after a fault, and SIGTERM
that ends what was started, as Ctrl-C does."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from mqkit.testing.rabbitmq_node import NodeFailed

Broker = Annotated[Literal["reference", "rabbitmq"], typer.Option()]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same run.")]

FAILURES: tuple[type[Exception], ...] = (NodeFailed, RuntimeError)
"""Errors that are told in a line; each run may have more."""


def chosen(seed: int | None) -> int:
    """The seed that was given, or a random one."""
    return secrets.randbelow(1 << 32) if seed is None else seed


def end(
    name: str, run: Callable[[], int], *, failures: tuple[type[Exception], ...] = FAILURES
) -> NoReturn:
    """Run, and exit with the code of it; with 1 after one of ``failures``, which is told."""
    try:
        code = run()
    except failures as why:
        print(f"interop.{name}: {why}", file=sys.stderr)
        code = 1
    raise SystemExit(code)


def end_with_folder(
    name: str,
    run: Callable[[Path], int],
    *,
    kept: str,
    keep: bool = False,
    failures: tuple[type[Exception], ...] = FAILURES,
) -> NoReturn:
    """As :func:`end`, with a folder for ``run``. After anything but the code 0, or with ``keep``,
    it stays, and ``kept`` says what is in it, with ``{folder}`` for its place."""
    folder = Path(tempfile.mkdtemp(prefix=f"mqkit-{name.replace('_', '-')}-"))
    code: object = 1
    try:
        end(name, lambda: run(folder), failures=failures)
    except SystemExit as ended:
        code = ended.code
        raise
    finally:
        if code or keep:
            print(kept.format(folder=folder))
        else:
            shutil.rmtree(folder)


def command(function: Callable[..., Any], name: str) -> None:
    """``python -m interop.NAME``: read the arguments of ``function``, and call it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(function)
    app(prog_name=f"python -m interop.{name}")
