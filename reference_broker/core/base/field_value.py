"""Field table values as RabbitMQ compares and prints them.

RabbitMQ keeps a value as an Erlang term beside its type. A timestamp is an integer there, long
strings and binaries are the same, and 5 and 5.0 are not; ``1 == True`` must never slip in from
Python. The widths of integers are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mqkit.wire import Typed, table_type_name


def comparable(value: Any) -> Hashable:
    """A form of a value that is equal for two values exactly when RabbitMQ finds them equal.

    The entries of inner tables count in their order, as in RabbitMQ.
    """
    match value:
        case Typed():
            return comparable(value.value)
        case None | bool():
            return ("atom", value)
        case int():
            return ("integer", value)
        case datetime():
            return ("integer", _seconds(value))
        case float():
            return ("float", value)
        case str():
            return ("binary", value.encode("utf-8", "surrogatepass"))
        case bytes():
            return ("binary", value)
        case Decimal():
            return ("decimal", _scaled(value))
        case Mapping():
            return ("table", tuple((name, comparable(inner)) for name, inner in value.items()))
        case list() | tuple():
            return ("array", tuple(comparable(inner) for inner in value))
    raise AssertionError(f"a field table has no {type(value).__name__}")


def printed(value: Any) -> str:
    """The value in an error text: strings as they are, the rest as Erlang's ``~p``."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
    return erlang_term(value)


def erlang_term(value: Any) -> str:
    """The value as Erlang's ``~p`` prints it."""
    match value:
        case Typed():
            return erlang_term(value.value)
        case None:
            return "undefined"
        case bool():
            return "true" if value else "false"
        case datetime():
            return str(_seconds(value))
        case Decimal():
            return "{{{},{}}}".format(*_scaled(value))
        case str():
            return _binary(value)
        case bytes():
            return _bytes(value)
        case Mapping():
            return _listed(
                value.items(),
                lambda entry: (
                    f"{_binary(entry[0])},{table_type_name(entry[1])},{erlang_term(entry[1])}"
                ),
            )
        case list() | tuple():
            return _listed(value, lambda inner: f"{table_type_name(inner)},{erlang_term(inner)}")
    return str(value)


def _listed(values: Any, printed_one: Callable[[Any], str]) -> str:
    return "[" + ",".join(f"{{{printed_one(value)}}}" for value in values) + "]"


def _binary(text: str) -> str:
    if not text:
        return "<<>>"
    if not text.isprintable():
        return _bytes(text.encode("utf-8", "surrogatepass"))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'<<"{escaped}">>' if text.isascii() else f'<<"{escaped}"/utf8>>'


def _bytes(octets: bytes) -> str:
    text = octets.decode("ascii", "replace")
    if text.isascii() and text.isprintable():
        return _binary(text)
    return "<<" + ",".join(map(str, octets)) + ">>"


def _seconds(value: datetime) -> int:
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())


def _scaled(value: Decimal) -> tuple[int, int]:
    """Scale and unscaled value, as on the wire: 1.50 is not 1.5 to RabbitMQ."""
    sign, digits, exponent = value.as_tuple()
    if isinstance(exponent, str):  # NaN and infinities can't have come over the wire
        return (0, 0)
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    return (max(-exponent, 0), -unscaled if sign else unscaled)
