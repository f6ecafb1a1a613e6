"""A condition as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Operator(StrEnum):
    """The comparisons."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    STARTS_WITH = "startswith"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Path:
    """``body.items[0].id``: the fact that it starts from, and the way inwards."""

    fact: str
    steps: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true, false, null, or a duration in milliseconds."""

    value: str | int | float | bool | None
    is_duration: bool = False


Operand: TypeAlias = Path | Literal


@dataclass(frozen=True, slots=True)
class Comparison:
    """``right`` is a tuple for ``in``, else one operand."""

    operator: Operator
    left: Operand
    right: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True where ``inner`` does not hold."""

    inner: Condition


@dataclass(frozen=True, slots=True)
class All:
    """``and``."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """``or``."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Not | All | Any
