"""The records that a demo sends: one JSON value a line, or a ``.json`` file with an array of them.

A record's body is the line as it was written; nothing of it is understood but its fields, for a
routing key made from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqkit.settings import MESSAGE_BYTES_MAX
from mqkit_cli.errors import CommandError

RECORDS_MAX = 200_000
"""The demo holds every record, and the sets of their ids, in memory: some 200 MB for this many."""


@dataclass(frozen=True, slots=True)
class Record:
    """``place`` says where it comes from (``flights.jsonl:7``). ``fields`` are empty for a value
    that is not an object."""

    place: str
    body: bytes
    fields: Mapping[str, Any]


def read_records(path: Path) -> tuple[Record, ...]:
    """Every record of ``path``, in order.

    Raises :exc:`~mqkit_cli.errors.CommandError` with file and line of the first that is not JSON.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{path}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8 text") from None
    records = _array(path, text) if path.suffix == ".json" else _lines(path, text)
    if not records:
        raise CommandError(f"{path}: there is no record in it (expected one JSON value per line)")
    if len(records) > RECORDS_MAX:
        raise CommandError(
            f"{path}: {len(records)} records; the demo takes {RECORDS_MAX} at most"
            " (head -n makes a smaller file)"
        )
    large = next((record for record in records if len(record.body) > MESSAGE_BYTES_MAX), None)
    if large is not None:
        raise CommandError(
            f"{large.place}: {len(large.body)} bytes; a message has {MESSAGE_BYTES_MAX} at most"
        )
    return records


def _lines(path: Path, text: str) -> tuple[Record, ...]:
    found = []
    # Not splitlines(): JSON may hold U+2028 and its kin, which end no line of a file.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{path}:{number}"
            found.append(Record(place, line.strip().encode(), _fields(_parse(place, line))))
    return tuple(found)


def _array(path: Path, text: str) -> tuple[Record, ...]:
    value = _parse(str(path), text)
    if not isinstance(value, list):
        raise CommandError(
            f"{path}: expected an array of records in a .json file"
            " (one record per line goes into a .jsonl file)"
        )
    return tuple(
        Record(
            f"{path}: record {number}",
            json.dumps(item, separators=(",", ":")).encode(),
            _fields(item),
        )
        for number, item in enumerate(value, start=1)
    )


def _parse(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        # A line of a file says which one it is already.
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise CommandError(
            f"{place}: not JSON: {error.msg} at {line}column {error.colno}"
        ) from None
    except (RecursionError, ValueError):
        raise CommandError(f"{place}: JSON that is nested too deep, or a number too long") from None


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
