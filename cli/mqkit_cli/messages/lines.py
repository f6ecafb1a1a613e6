"""Messages from lines: what ``mqkit publish`` reads from a file or from a pipe.

One message a line, as it stands; empty lines are none. A file that is called ``.jsonl`` must hold
JSON on every line: that is checked to its end before anything is published.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from mqkit_cli.errors import CommandError

JSON_LINES = (".jsonl", ".ndjson")


def checked_count(file: Path) -> int:
    """The number of messages in the file.

    Raises :exc:`CommandError` with the number of the first line that should be JSON and is not.
    """
    is_json = file.suffix.lower() in JSON_LINES
    count = 0
    with file.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            body = raw.strip()
            if not body:
                continue
            count += 1
            if is_json:
                _check_json(body, file, number)
    return count


def bodies(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The messages of ``lines``."""
    for raw in lines:
        body = raw.rstrip(b"\r\n")
        if body.strip():
            yield body


def _check_json(body: bytes, file: Path, number: int) -> None:
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "not UTF-8 text, or nested too deeply")
        raise CommandError(
            f"{file}:{number}: not JSON: {reason} (expected one JSON value on each line;"
            " nothing was published)"
        ) from None
