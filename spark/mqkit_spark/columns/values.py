"""The values of an Arrow column as Python has them, the unreadable ones told apart. Pure.

Spark's strings may hold octets that are not UTF-8 (``cast(unhex('FF') as string)``), and its
timestamps years that Python has not. One such value makes the whole column unreadable for Arrow; it
is one row that is bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The place of a value that Python can't hold, with the reason."""

    why: str


def values_of(column: Any) -> list[Any]:
    """The values of a ``pyarrow.Array``, an :class:`Unreadable` for each that can't be read."""
    try:
        found: list[Any] = column.to_pylist()
    except (UnicodeDecodeError, OverflowError, ValueError):
        return [_value_of(scalar) for scalar in column]
    return found


def _value_of(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return Unreadable("text that is not UTF-8")
    except (OverflowError, ValueError):
        return Unreadable("a time outside of the years 1 to 9999")
