"""The text of a condition as tokens."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import UNITS_MS

TEXT_MAX = 4_096
"""Characters of a condition: more than anybody types."""

DIGITS_MAX = 30
"""Digits of a number: the numbers of JSON that programs agree on have 17."""

_DURATION_DIGITS_MAX = 9
_SPACE = re.compile(r"[ \t\r\n]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_DURATION = re.compile(r"(?:[0-9]+(?:ms|[dhms]))+(?!\w)")
_DURATION_PART = re.compile(r"([0-9]+)(ms|[dhms])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SYMBOL = re.compile(r"==|!=|<=|>=|[<>()\[\].,]")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"' + "|" + r"'(?:[^'\\]|\\.)*'", re.DOTALL)


class WhereError(ConfigurationError):
    """A condition can't be read; the message has the column, counted from 1, and what was expected
    there."""


class Kind(Enum):
    """The kinds of tokens."""

    NAME = "a name"
    SYMBOL = "a sign"
    TEXT = "a text"
    NUMBER = "a number"
    DURATION = "a duration"
    END = "the end"


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is as written; ``value`` what a literal stands for. ``at`` counts from 0."""

    kind: Kind
    text: str
    at: int
    value: str | int | float = ""

    @property
    def end(self) -> int:
        return self.at + len(self.text)

    def __str__(self) -> str:
        return "the end" if self.kind is Kind.END else repr(self.text)


def fault(at: int, words: str) -> WhereError:
    """The error for the column of ``at``."""
    return WhereError(f"column {at + 1}: {words}")


def tokens(text: str) -> list[Token]:
    """The tokens, the end included. Raises :exc:`WhereError`."""
    if len(text) > TEXT_MAX:
        raise fault(TEXT_MAX, f"a condition has at most {TEXT_MAX} characters, not {len(text)}")
    found: list[Token] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        found.append(_token(text, at))
        at = found[-1].end
    return [*found, Token(Kind.END, "", len(text))]


def _token(text: str, at: int) -> Token:
    if match := _DURATION.match(text, at):
        return Token(Kind.DURATION, match[0], at, _duration(match[0], at))
    if match := _NUMBER.match(text, at):
        return Token(Kind.NUMBER, match[0], at, _number(match[0], at))
    if match := _NAME.match(text, at):
        return Token(Kind.NAME, match[0], at)
    if match := _SYMBOL.match(text, at):
        return Token(Kind.SYMBOL, match[0], at)
    if match := _TEXT.match(text, at):
        return Token(Kind.TEXT, match[0], at, _string(match[0], at))
    if text[at] in "\"'":
        raise fault(at, "a text that does not end")
    if text[at] == "=":
        raise fault(at, "`=` is no comparison: `==` is")
    if text[at] in "-0123456789":
        raise fault(at, "neither a number nor a duration such as 90s or 1h30m")
    raise fault(at, f"{text[at]!r} has no meaning here")


def _number(text: str, at: int) -> int | float:
    if sum(each.isdigit() for each in text) > DIGITS_MAX:
        raise fault(at, f"a number has at most {DIGITS_MAX} digits")
    if any(each in text for each in ".eE"):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise fault(at, "a number that is too large")
        return number
    return int(text)


def _duration(text: str, at: int) -> int:
    total = 0
    for number, unit in _DURATION_PART.findall(text):
        if len(number) > _DURATION_DIGITS_MAX:
            raise fault(at, f"a duration has at most {_DURATION_DIGITS_MAX} digits")
        total += int(number) * UNITS_MS[unit]
    return total


def _string(text: str, at: int) -> str:
    """JSON's escapes in either kind of quotes."""
    inner = text[1:-1]
    if text[0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        raise fault(at, "a text with an escape that JSON has not") from None


def duration_ms(text: str) -> int:
    """``90s``, ``1h30m``, ``365d`` as milliseconds. Raises
    :exc:`~mqkit.errors.ConfigurationError`."""
    if not _DURATION.fullmatch(text):
        raise ConfigurationError(f"{text!r} is no age: write one like 90s, 1h30m or 30d")
    return _duration(text, 0)
