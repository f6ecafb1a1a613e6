"""The output of commands: tables for people, JSON for programs, and remarks on stderr.

Names, headers and bodies are other people's: they are shown as text, never as markup, and never
with control characters that a terminal would obey.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 240
"""Columns of a table that goes to a file or a pipe, where nothing has a width."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """``text`` on one line, with escapes for what is not a printable character."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _ESCAPES.get(character, _escape(character))
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def body_text(body: bytes, most: int | None = None) -> str:
    """A message's body, as far as it is text; cut after ``most`` characters."""
    text = printable(body.decode("utf-8", "backslashreplace"))
    return text if most is None or len(text) <= most else text[: most - 3] + "..."


def body_json(body: bytes) -> dict[str, str]:
    """A message's body as JSON carries it: as text, or as base64 if it is not UTF-8."""
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def plural(count: int, word: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def line(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A remark on stderr: what a person wants to know, and a program must not read as output."""
    sys.stderr.write(f"mqkit: {text}\n")
    sys.stderr.flush()


def write_json(value: object, *, lines: bool = False) -> None:
    """``value`` on stdout; with ``lines`` on a single line, for streams."""
    line(json.dumps(value, indent=None if lines else 2, default=plain, ensure_ascii=False))


def plain(value: object) -> object:
    """A JSON value for one that JSON has no type for: bytes as text, everything else as Python
    shows it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout. Numbers are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numbers = bool(shown) and all(isinstance(row[index], int) for row in shown)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(table)
        return
    console.width = PIPE_WIDTH
    with console.capture() as captured:
        console.print(table)
    for shown_line in captured.get().splitlines():
        line(shown_line.rstrip())


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Any]:
    """A bar on stderr while something long runs, if a person is watching. Gives a function that
    takes how much is done in all, and the total where it is known only later."""
    console = Console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, of=None: bar.update(task, completed=done, total=of)
