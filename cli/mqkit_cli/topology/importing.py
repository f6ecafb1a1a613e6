"""``mqkit topology import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqkit.errors import ConfigurationError
from mqkit.topology import MAX_DEFINITIONS_BYTES, Imported, import_definitions
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, plural
from mqkit_cli.topology.view import counted

_WORDS = {"topic_permissions": "topic permission", "global_parameters": "global parameter"}


def import_command(
    definitions: Annotated[
        Path, typer.Argument(metavar="DEFINITIONS", help="A RabbitMQ definitions file, in JSON.")
    ],
    vhost: Annotated[
        str | None,
        typer.Option("--vhost", metavar="VHOST", help="Of several virtual hosts, the one to take."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write it here, not to stdout; must be new."
        ),
    ] = None,
) -> None:
    """Make a topology file of a RabbitMQ definitions file: exchanges, queues, bindings, policies.

    Users, the hashes of their passwords, permissions and parameters are left out. No broker is
    asked, and nothing is declared.
    """
    try:
        imported = import_definitions(_read(definitions), vhost)
    except ConfigurationError as error:
        raise CommandError(f"{definitions}: {error}") from None
    if output is None:
        line(imported.text.rstrip("\n"))
    else:
        write_new(output, imported.text)
        note(f"wrote {_counted(imported)} to {output}")
    if imported.left_out:
        parts = (plural(count, _word(kind)) for kind, count in imported.left_out.items())
        note(f"left out: {', '.join(parts)}")


def write_new(file: Path, text: str) -> None:
    """Write ``text`` to ``file``. Raises :exc:`CommandError` if it is there already."""
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise CommandError(f"{file} is there already: name a new file, or move it away") from None


def _read(file: Path) -> bytes:
    """No more than definitions may have, whatever the file is."""
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_DEFINITIONS_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file}: can't be read: {error.strerror or error}") from None


def _counted(imported: Imported) -> str:
    return counted((*imported.snapshot.declarations, *imported.snapshot.policies))


def _word(kind: str) -> str:
    return _WORDS.get(kind, kind.removesuffix("s"))
