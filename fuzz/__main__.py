"""``python -m fuzz``: every target for a while, each in a process of its own.

``--seconds`` is for each target; with the ``--seed`` that a run prints, its inputs come again. It
needs Atheris (the ``fuzz`` extra); ``replay`` takes a file that was saved and needs none. Exit
code 0 when nothing was found.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fuzz.targets import TARGETS

CRASHES = Path("fuzz-crashes")
"""Ignored by git."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

Seconds = Annotated[int, typer.Option(min=1, help="How long each target runs.")]
Seed = Annotated[int | None, typer.Option(min=1, max=2**31, help="Of libFuzzer; else a new one.")]
Targets = Annotated[list[str] | None, typer.Option("--target", help="Only this one; repeatable.")]


@app.callback(invoke_without_command=True)
def everything(
    context: typer.Context, seconds: Seconds = 60, seed: Seed = None, target: Targets = None
) -> None:
    """All targets, or those that are named."""
    if context.invoked_subcommand is not None:
        return
    unknown = set(target or ()) - set(TARGETS)
    if unknown:
        raise typer.BadParameter(f"no target {', '.join(unknown)}: {', '.join(TARGETS)}")
    seed = seed or random.SystemRandom().randrange(1, 2**31)
    print(f"seed {seed}")
    found = [name for name in target or TARGETS if not _runs_clean(name, seconds, seed)]
    print(f"{len(target or TARGETS)} targets, {seconds} s each: {', '.join(found) or 'no'} crash")
    raise SystemExit(bool(found))


def _runs_clean(name: str, seconds: int, seed: int) -> bool:
    """Prints how to replay what was found."""
    folder = CRASHES / name
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    with tempfile.TemporaryDirectory() as corpus:
        for number, octets in enumerate(TARGETS[name].seeds()):
            Path(corpus, f"seed-{number}").write_bytes(octets)
        arguments = [name, str(seconds), str(seed), str(folder), corpus]
        command = [sys.executable, "-m", "fuzz.driver", *arguments]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    lines = ended.stderr.splitlines()
    crashes = sorted(set(folder.iterdir()) - before)
    if ended.returncode == 0 and not crashes:
        print(f"{name}: {next((each for each in lines if each.startswith('Done')), 'done')}")
        return True
    print("\n".join(lines[-40:]), file=sys.stderr)
    for crash in crashes:
        print(f"{name}: replay with: {sys.executable} -m fuzz replay {name} {crash}")
    return False


@app.command()
def replay(name: str, file: Path) -> None:
    """Once more, with what was saved: raises what it raised."""
    TARGETS[name].check(file.read_bytes())
    print(f"{name}: nothing wrong with {file}")


if __name__ == "__main__":
    app(prog_name="python -m fuzz")
