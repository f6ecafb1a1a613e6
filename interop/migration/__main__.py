"""``python -m interop.migration``: exit code 1 when a promise is broken."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from interop.migration.run import Options, run
from mqkit.testing.rabbitmq_node import NodeFailed


def migration(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    kills: Annotated[int, typer.Option(min=0, help="So many processes are killed.")] = 200,
    seconds: Annotated[float, typer.Option(help="No kills after that.")] = 86_400.0,
    seed: Annotated[int | None, typer.Option(help="The moments of the kills.")] = None,
) -> None:
    """A queue is migrated again and again, by processes that are killed."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="mqkit-migration-"))
    print(f"migration: {broker}, {kills} kills, --seed {chosen}", flush=True)
    code = 1
    try:
        code = run(Options(broker, kills, seconds, chosen, folder))
    except (NodeFailed, RuntimeError) as why:
        print(f"interop.migration: {why}", file=sys.stderr)
    finally:
        if code:
            print(f"topology and journal: {folder}")
        else:
            shutil.rmtree(folder)
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(migration)
    app(prog_name="python -m interop.migration")


if __name__ == "__main__":
    main()
