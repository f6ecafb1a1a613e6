"""Headers of a message that arrived, as a column of a DataFrame. Pure.

``map`` is a map of strings that every query can work with, and loses types; ``json`` is a string
with JSON that loses nothing (:mod:`mqkit.lots.archive.header_json`), and that the sink sends again
as it was.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from mqkit.lots.archive.header_json import table_to_json
from mqkit.wire import Typed

REPLACE = "replace"


class HeadersFormat(StrEnum):
    """The form of the column ``headers`` that a source gives."""

    MAP = "map"
    """map<string,string>"""
    JSON = "json"
    """string"""


def as_map(headers: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The headers for a map of strings: text as it is, null as null, ``true`` and ``false``,
    numbers in decimal, timestamps in ISO 8601, octets in base64, tables and arrays as the JSON of
    ``json``."""
    return [(readable(name), _text(value)) for name, value in headers.items()]


def as_json(headers: Mapping[str, Any]) -> str:
    """The headers as a JSON object."""
    return _json(table_to_json(headers))


def readable(text: str) -> str:
    """Text that can be encoded: of octets that are not UTF-8, which hold lone surrogates
    (:data:`mqkit.wire.strings.LENIENT`), the replacement character is left."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", REPLACE)
    return text


def _text(value: Any) -> str | None:
    if isinstance(value, Typed):
        value = value.value
    match value:
        case None:
            return None
        case str():
            return readable(value)
        case bool():
            return "true" if value else "false"
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Decimal():
            return format(value, "f")
        case Mapping():
            return as_json(value)
        case list() | tuple():
            return _json(table_to_json({"": list(value)})[""])
    return str(value)


def _json(shown: Any) -> str:
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates can't be encoded, and can be escaped
        return json.dumps(shown, separators=(",", ":"))
    return text
