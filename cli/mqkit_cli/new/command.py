"""``mqkit new``."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from mqkit_cli.errors import CommandError
from mqkit_cli.new.rendering import rendered
from mqkit_cli.new.service import BadName, Service
from mqkit_cli.render import line, note


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The service's: order-mails.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="Where it is written; must be new. NAME if not given."
        ),
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="The queue it handles. NAME if not given.")
    ] = None,
) -> None:
    """Write a service to begin with: settings, topology, a handler with retries and a parking lot,
    tests, a container file, probes, and a dashboard.

    Nothing is declared, and no broker is asked. README.md in the folder says how to go on.
    """
    try:
        service = Service.of(name, queue)
    except BadName as error:
        raise CommandError(str(error)) from None
    target = Path(name) if folder is None else folder
    texts = rendered(service)
    write_folder(target, texts)
    for path in texts:
        line(f"{target / path}")
    note(f"cd {target} && cat README.md")


def write_folder(target: Path, texts: Mapping[str, str]) -> None:
    """Have the folder there with all of its files, or not at all. Raises :exc:`CommandError`
    where there is something already."""
    taken = f"{target} is there already, and is not empty: name a new folder"
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise CommandError(taken)
        target.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".mqkit-new-", dir=target.parent))
        try:
            for path, text in texts.items():
                file = making / path
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
            making.chmod(0o777 & ~_umask())
            os.replace(making, target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise CommandError(f"{target} can't be written: {error.strerror or error}") from None


def _umask() -> int:
    """The mode that others are kept from: a temporary folder is its owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
