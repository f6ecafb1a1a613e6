"""The truth of a condition about a message. Never raises.

* A field that is not there, and any field of a body that is no JSON, makes its comparison false,
  ``!=`` too.
* Values of unlike types make it false as well, ``!=`` too: ``"5" == 5`` and ``"5" != 5`` both don't
  hold. Types are text, number, true or false, null, list and object; ``true`` is no number.
* ``not`` turns round what came of it: ``not body.total > 100`` holds where there is no total.
* ``<`` and its kind compare numbers, and texts by their characters' code points.
* ``contains`` looks for a text in a text, or for an equal value in a list. ``in`` is true if any
  value of its list is equal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any as AnyValue
from typing import Final, Protocol

from mqkit.lots.where.conditions import (
    All,
    Any,
    Comparison,
    Condition,
    Not,
    Operand,
    Operator,
    Path,
)


class _Missing:
    """The value of a field that is not there."""


MISSING: Final = _Missing()

_ORDERED: dict[Operator, Callable[[AnyValue, AnyValue], bool]] = {
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.GREATER: operator.gt,
    Operator.AT_LEAST: operator.ge,
}


class Facts(Protocol):
    """A message, as conditions ask about it."""

    def value(self, name: str) -> AnyValue:
        """The value of ``body``, ``header``, ``reason``, ``error``, ``attempts`` or ``age`` (in
        milliseconds), or :data:`MISSING`. Objects are mappings."""
        ...


def holds(condition: Condition, facts: Facts) -> bool:
    """True if it holds."""
    match condition:
        case All():
            return all(holds(part, facts) for part in condition.parts)
        case Any():
            return any(holds(part, facts) for part in condition.parts)
        case Not():
            return not holds(condition.inner, facts)
    return _compare(condition, facts)


def _compare(comparison: Comparison, facts: Facts) -> bool:
    left = _value(comparison.left, facts)
    if left is MISSING:
        return False
    for operand in comparison.right:
        right = _value(operand, facts)
        if right is not MISSING and _fits(comparison.operator, left, right):
            return True
    return False


def _value(operand: Operand, facts: Facts) -> AnyValue:
    if not isinstance(operand, Path):
        return operand.value
    value = facts.value(operand.fact)
    for step in operand.steps:
        if isinstance(step, str):
            inside = isinstance(value, Mapping) and step in value
        else:
            inside = isinstance(value, list) and step < len(value)
        if not inside:
            return MISSING
        value = value[step]
    return value


def _fits(compared: Operator, left: AnyValue, right: AnyValue) -> bool:
    if compared is Operator.CONTAINS and isinstance(left, list):
        return any(_equal(each, right) for each in left)
    kind = _kind(left)
    if kind is None or kind != _kind(right):
        return False
    match compared:
        case Operator.EQUAL | Operator.IN:
            return _equal(left, right)
        case Operator.UNEQUAL:
            return not _equal(left, right)
        case Operator.CONTAINS:
            return kind is str and right in left
        case Operator.STARTS_WITH:
            return kind is str and bool(left.startswith(right))
    return kind in (str, float) and _ORDERED[compared](left, right)


def _equal(left: AnyValue, right: AnyValue) -> bool:
    kind = _kind(left)
    if kind is None or kind != _kind(right):
        return False
    if kind is list:
        return len(left) == len(right) and all(map(_equal, left, right))
    if kind is dict:
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return bool(left == right)


def _kind(value: AnyValue) -> type | None:
    """The type, as conditions have it; ``None`` for a value that they have not (octets, times)."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float | Decimal):
        return float
    if isinstance(value, str):
        return str
    if value is None:
        return type(None)
    if isinstance(value, list):
        return list
    return dict if isinstance(value, Mapping) else None
