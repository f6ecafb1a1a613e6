"""A file of definitions in RabbitMQ's format: checked, put into a stable order, written whole."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

from mqkit_cli.errors import CommandError
from mqkit_cli.render import plural

Definitions: TypeAlias = dict[str, Any]

STREAM = "-"
"""Names stdin or stdout in place of a file."""

SECTIONS = (
    "users",
    "vhosts",
    "permissions",
    "topic_permissions",
    "parameters",
    "global_parameters",
    "policies",
    "queues",
    "exchanges",
    "bindings",
)
_COUNTED = ("exchange", "queue", "binding")
_NAMES = ("vhost", "name", "user", "source", "destination")
"""The fields by which the items of a section are sorted, in turn, as far as they have them."""


def read(file: str) -> bytes:
    """The content of a file, or of stdin."""
    if file == STREAM:
        return sys.stdin.buffer.read()
    return Path(file).read_bytes()


def parse(document: bytes, where: str) -> Definitions:
    """The definitions in ``document``. Raises :exc:`CommandError` if it is no such file."""
    try:
        found = json.loads(document.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{where}: not JSON: {_why(error)}") from None
    if not isinstance(found, dict):
        raise CommandError(f"{where}: not a file of definitions: expected a JSON object")
    if not any(section in found for section in SECTIONS):
        raise CommandError(
            f"{where}: not a file of definitions: it has none of {', '.join(SECTIONS)}"
        )
    for section in SECTIONS:
        items = found.get(section, [])
        if not isinstance(items, list):
            raise CommandError(f"{where}: {section} is not a list")
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict):
                raise CommandError(f"{where}: {section}, item {number} is not an object")
    return found


def pretty(definitions: Definitions) -> str:
    """JSON to keep and to compare: the same definitions give the same text, whatever the order in
    which the broker lists them. ASCII, so that no locale spoils it."""
    ordered = {
        name: sorted(value, key=_rank) if name in SECTIONS else value
        for name, value in definitions.items()
    }
    return json.dumps(ordered, indent=2, sort_keys=True) + "\n"


def counted(definitions: Definitions) -> str:
    """``2 exchanges, 1 queue, 3 bindings``."""
    return ", ".join(plural(len(definitions.get(f"{kind}s", [])), kind) for kind in _COUNTED)


def skipped(answer: bytes) -> list[str]:
    """The definitions that a reference broker says it has skipped. RabbitMQ names none."""
    if not answer:
        return []
    try:
        return [str(label) for label in json.loads(answer)["skipped"]]
    except (ValueError, RecursionError, KeyError, TypeError):
        return []


def write(file: str, text: str) -> None:
    """Write ``text`` as a whole or not at all, in place of an older file. Only the owner can read
    it, for it has the hashes of passwords. Raises ``OSError``, and :exc:`CommandError` for a path
    that is no regular file."""
    path = Path(file)
    if path.exists() and not path.is_file():
        raise CommandError(f"{file} is not a regular file (- writes to stdout)")
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as new:
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _rank(item: dict[str, Any]) -> tuple[str, ...]:
    return (*(str(item.get(name, "")) for name in _NAMES), json.dumps(item, sort_keys=True))


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return "not UTF-8 text, or nested too deeply"
