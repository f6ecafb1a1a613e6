"""``python -m interop.archives``: exit code 1 when a promise is broken; the files are kept then."""

from __future__ import annotations

import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from interop.archives.run import Options, run
from mqkit.testing.rabbitmq_node import NodeFailed


def archives(
    broker: Annotated[Literal["reference", "rabbitmq"], typer.Option()] = "reference",
    messages: Annotated[int, typer.Option(min=100, help="So many lie in the lot.")] = 100_000,
    kills: Annotated[
        int,
        typer.Option(
            min=0, help="So often each command is killed; 2,000 messages for each, or more."
        ),
    ] = 20,
    seed: Annotated[int | None, typer.Option(help="The messages, and the kills.")] = None,
) -> None:
    """A large lot is archived, restored and replayed, and what does it is killed."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="mqkit-archives-"))
    print(f"archives: {broker}, {messages} messages, {kills} kills, --seed {chosen}", flush=True)
    code = 1
    try:
        code = run(Options(broker, messages, kills, chosen, folder))
    except (NodeFailed, RuntimeError) as why:
        print(f"interop.archives: {why}", file=sys.stderr)
    finally:
        if code:
            print(f"archives: {folder}")
        else:
            shutil.rmtree(folder)
    raise SystemExit(code)


def main() -> None:
    # As after Ctrl-C, all that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(archives)
    app(prog_name="python -m interop.archives")


if __name__ == "__main__":
    main()
