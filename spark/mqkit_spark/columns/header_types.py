"""Headers as a Spark column has them, and the AMQP types that they are sent with. Pure.

===============================  ==================================================
Spark                            AMQP
===============================  ==================================================
string                           longstr
boolean                          bool
tinyint, smallint, int, bigint   byte, short, signedint, long
float, double                    float, double; NaN and infinities make a bad row
decimal                          decimal, of 32 bits without its point
binary                           binary
timestamp                        timestamp, in whole seconds since 1970
array                            array
map with keys of type string     table
struct                           table
void                             void
===============================  ==================================================

A null is sent as void, wherever it stands. The column itself is a map, a struct, or a string with a
JSON object in it (:mod:`mqkit.lots.archive.header_json` has its form: a value ``{"$amqp": TYPE,
"value": V}`` has a type that JSON has not).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from mqkit.lots.archive.header_json import table_from_json
from mqkit.wire import SizedInt, Typed

HEADERS_JSON_CHARACTERS_MAX = 1024 * 1024
"""The longest JSON that is read as headers. A content header is one frame, 128 KiB with RabbitMQ's
defaults, so that a longer one is certainly a bad row."""

_SIZES = {"byte": "b", "short": "s", "integer": "I", "long": "l"}
_PLAIN = frozenset({"string", "boolean", "double", "binary", "void", "null"})


class HeaderType(Protocol):
    """One type of a column, as it becomes AMQP."""

    def to_amqp(self, value: Any) -> Any:
        """The value for a field table. ``value`` is what ``to_pylist`` of Arrow gives; raises
        ``ValueError`` for one that AMQP has no place for."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that mqkit sends under the wanted type as it is; ``kind`` is Spark's name of it."""

    kind: str

    def to_amqp(self, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class Sized:
    """A whole number of a said size; ``tag`` is the field table's."""

    tag: str

    def to_amqp(self, value: Any) -> Any:
        return None if value is None else SizedInt(self.tag, value)


@dataclass(frozen=True, slots=True)
class SingleFloat:
    """A float of 32 bits."""

    def to_amqp(self, value: Any) -> Any:
        return None if value is None else Typed("f", value)


@dataclass(frozen=True, slots=True)
class Moment:
    """A timestamp; one without a time zone is UTC."""

    def to_amqp(self, value: Any) -> Any:
        if value is None:
            return None
        assert isinstance(value, datetime)
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        if moment.timestamp() < 0:
            raise ValueError("a timestamp before 1970")
        return moment.replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    item: HeaderType

    def to_amqp(self, value: Any) -> Any:
        return None if value is None else [self.item.to_amqp(each) for each in value]


@dataclass(frozen=True, slots=True)
class TableOf:
    """A map, which Arrow gives as a list of pairs."""

    value: HeaderType

    def to_amqp(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(self.value, Plain):
            return dict(value)
        return {name: self.value.to_amqp(each) for name, each in value}


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct; the names of its fields are those of the headers."""

    fields: tuple[tuple[str, HeaderType], ...]

    def to_amqp(self, value: Any) -> Any:
        if value is None:
            return None
        return {name: kind.to_amqp(value[name]) for name, kind in self.fields}


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON object as text."""

    def to_amqp(self, value: Any) -> Any:
        if value is None:
            return None
        if len(value) > HEADERS_JSON_CHARACTERS_MAX:
            raise ValueError(f"JSON of more than {HEADERS_JSON_CHARACTERS_MAX} characters")
        try:
            return table_from_json(json.loads(value))
        except RecursionError:
            raise ValueError("JSON nested too deep") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"no JSON: {error}") from None


ColumnType = TableOf | Struct | JsonText


def column_type(kind: Any) -> ColumnType:
    """The type of the column ``headers``, from Spark's type as its ``jsonValue()``.

    Raises ``ValueError`` in words that follow the column's name.
    """
    if kind == "string":
        return JsonText()
    if isinstance(kind, Mapping) and kind.get("type") in ("map", "struct"):
        found = _type(kind, "headers")
        assert isinstance(found, TableOf | Struct)
        return found
    raise ValueError(f"is {_shown(kind)}, expected a map, a struct, or a string with JSON")


def is_text_only(kind: ColumnType) -> bool:
    """True for a map of strings, which every transport can send."""
    return kind == TableOf(Plain("string"))


def _type(kind: Any, path: str) -> HeaderType:
    if isinstance(kind, str):
        return _scalar(kind, path)
    match kind.get("type"):
        case "array":
            return ListOf(_type(kind["elementType"], f"{path}[]"))
        case "map" if kind["keyType"] == "string":
            return TableOf(_type(kind["valueType"], f"{path}{{}}"))
        case "struct":
            fields: Sequence[Mapping[str, Any]] = kind["fields"]
            names = [field["name"] for field in fields]
            if len(set(names)) < len(names):
                raise ValueError(f"has two fields of one name at {path}")
            kinds = (_type(field["type"], f"{path}.{field['name']}") for field in fields)
            return Struct(tuple(zip(names, kinds, strict=True)))
    raise ValueError(f"has at {path} a {_shown(kind)}, which AMQP has no type for")


def _scalar(kind: str, path: str) -> HeaderType:
    if kind in _PLAIN or kind.startswith("decimal"):
        return Plain(kind)
    if kind in _SIZES:
        return Sized(_SIZES[kind])
    if kind == "float":
        return SingleFloat()
    if kind == "timestamp":
        return Moment()
    raise ValueError(f"has at {path} a {_shown(kind)}, which AMQP has no type for; cast it")


def _shown(kind: Any) -> str:
    if isinstance(kind, Mapping):
        return "map whose keys are no strings" if kind.get("type") == "map" else str(kind["type"])
    return str(kind)
