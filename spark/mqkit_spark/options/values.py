"""The values of options as Spark hands them over: text. Each reader raises ``ValueError`` in words
that the option's name can be put in front of."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

Choice = TypeVar("Choice", bound=StrEnum)


def text(given: str) -> str:
    """The text as it is."""
    return given


def boolean(given: str) -> bool:
    """``true`` or ``false`` in any letter case."""
    match given.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(f"expected true or false, not {given!r}")


def whole_number(given: str) -> int:
    """A whole number."""
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"expected a whole number, not {given!r}") from None


def number(given: str) -> float:
    """A number, with or without a fraction."""
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"expected a number, not {given!r}") from None


def seconds(given: str) -> float:
    """A number of seconds, with or without a fraction."""
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"expected a number of seconds, not {given!r}") from None


def choice(kind: type[Choice], given: str) -> Choice:
    """The member of ``kind`` with this value, in any letter case."""
    try:
        return kind(given.strip().lower())
    except ValueError:
        words = ", ".join(item.value for item in kind)
        raise ValueError(f"expected one of {words}, not {given!r}") from None
