"""Changes of a message before it is replayed: ``body.to=new@example.org``, ``header.x=1``. Pure.

The old values are kept in the header ``x-mqkit-edited``, as JSON: ``[{"path", "old", "at"}, ...]``,
the oldest first. It is bounded: an old value of more than 1,024 octets is told by its length and
digest only, and above 8,192 octets in all the oldest changes are left out.

A body is written anew, without white space between its values. So one that would change in other
ways as well is not touched: no JSON, a name twice in an object, a number that is no double.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from mqkit.errors import ConfigurationError
from mqkit.lots.archive.header_json import table_to_json
from mqkit.lots.where.conditions import Path
from mqkit.lots.where.parser import parse_path
from mqkit.lots.where.tokens import WhereError
from mqkit.wire import EncodeError

EDITED = "x-mqkit-edited"
OLD_OCTETS_MAX = 1_024
EDITED_OCTETS_MAX = 8_192
"""A content header has to fit into a frame, with the message's own headers in it."""

EDITS_MAX = 32


class _Nothing:
    """The value of a field that is not there."""

    def __repr__(self) -> str:
        return "(not there)"


NOTHING: Final = _Nothing()


class Unfit(Exception):
    """A message can't be changed so; it stays as it is."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change; ``value`` is ``NOTHING`` to take the field away."""

    text: str
    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Change:
    """A change as it came out: ``old`` and ``new`` are values as JSON has them, or ``NOTHING``."""

    path: str
    old: Any
    new: Any

    def lines(self) -> tuple[str, ...]:
        """The change as a diff."""
        sides = (("-", self.old), ("+", self.new))
        return tuple(
            f"{sign} {self.path}: {json.dumps(value, ensure_ascii=False)}"
            for sign, value in sides
            if value is not NOTHING
        )


def set_edit(text: str) -> Edit:
    """``PATH=VALUE``: a JSON value, or a text where it is none. Raises
    :exc:`~mqkit.errors.ConfigurationError`."""
    path, separator, value = _split(text)
    if not separator:
        raise ConfigurationError(f"--set {text!r} is not FIELD=VALUE, such as body.to=a@b.example")
    try:
        read = json.loads(value, parse_float=_double, parse_constant=_no_number)
    except (ValueError, RecursionError, Unfit):
        read = value
    return Edit(path, _field("--set", path), read)


def unset_edit(text: str) -> Edit:
    """``PATH``: the field is taken away where it is there. Raises as :func:`set_edit`."""
    return Edit(text.strip(), _field("--unset", text), NOTHING)


def _field(option: str, text: str) -> Path:
    try:
        return parse_path(text)
    except WhereError as error:
        raise ConfigurationError(f"{option} {text!r}, {error}") from None


def edited(
    body: bytes, headers: dict[str, Any], edits: Sequence[Edit], now: datetime
) -> tuple[bytes, dict[str, Any], tuple[Change, ...]]:
    """Body and headers with all changes, and what they were. Raises :exc:`Unfit`."""
    changes: list[Change] = []
    tree: Any = None
    new_headers = dict(headers)
    has_body = any(edit.path.fact == "body" for edit in edits)
    if has_body:
        tree = _read(body)
    for edit in edits:
        root = tree if edit.path.fact == "body" else new_headers
        old = _put(root, edit.path.steps, edit.value)
        if not _same(old, edit.value):
            in_header = edit.path.fact == "header"
            changes.append(Change(edit.text, _shown(old, in_header), _shown(edit.value, in_header)))
    if not changes:
        return body, headers, ()
    if any(change.path.startswith("body") for change in changes):
        body = json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
    new_headers[EDITED] = _account(new_headers.get(EDITED), changes, now)
    return body, new_headers, tuple(changes)


def _split(text: str) -> tuple[str, str, str]:
    """At the first ``=`` that is not within quotes."""
    quote = ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "=":
            return text[:at].strip(), "=", text[at + 1 :]
    return text, "", ""


def _read(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode(),
            parse_float=_double,
            parse_constant=_no_number,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError):
        raise Unfit("its body is no JSON") from None


def _double(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf") or Decimal(repr(number)) != Decimal(text):
        raise Unfit(f"its body has a number that would lose digits ({text:.40})")
    return number


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unfit("its body has a name twice in an object")
    return found


def _put(root: Any, steps: Sequence[str | int], value: Any) -> Any:
    """Set or take away; the old value. Objects on the way are made where they are missing."""
    place = root
    for step, after in pairwise(steps):
        inner = _get(place, step)
        if inner is NOTHING:
            if value is NOTHING:
                return NOTHING
            if not isinstance(after, str):
                raise Unfit(f"it has no list at {step!r}")
            inner = place[step] = {}
        place = inner
    last: Any = steps[-1]
    old = _get(place, last)
    if value is not NOTHING:
        place[last] = value
    elif old is not NOTHING:
        del place[last]
    return old


def _get(place: Any, step: str | int) -> Any:
    if isinstance(step, str):
        if not isinstance(place, dict):
            raise Unfit(f"{step!r} is looked for in what is no object")
        return place.get(step, NOTHING)
    if not isinstance(place, list) or step >= len(place):
        raise Unfit(f"there is no place {step} in a list")
    return place[step]


def _same(old: Any, new: Any) -> bool:
    """``true`` is not 1, and 1 is not 1.0."""
    return type(old) is type(new) and (old is new or bool(old == new))


def _shown(value: Any, in_header: bool) -> Any:
    if value is NOTHING or not in_header:
        return value
    try:
        return table_to_json({"value": value})["value"]
    except EncodeError as error:
        raise Unfit(str(error)) from None


def _account(before: Any, changes: Sequence[Change], now: datetime) -> str:
    entries = _earlier(before)
    for change in changes:
        entry: dict[str, Any] = {"path": change.path, "at": now.isoformat()}
        if change.old is not NOTHING:
            text = json.dumps(change.old, separators=(",", ":")).encode()
            if len(text) <= OLD_OCTETS_MAX:
                entry["old"] = change.old
            else:
                entry |= {"old_octets": len(text), "old_sha256": hashlib.sha256(text).hexdigest()}
        entries.append(entry)
    while len(account := json.dumps(entries, separators=(",", ":"))) > EDITED_OCTETS_MAX:
        del entries[0]
    return account


def _earlier(before: Any) -> list[Any]:
    try:
        found = json.loads(before) if isinstance(before, str) else []
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []
