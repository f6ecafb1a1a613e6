"""One field of a JSON body."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json


def field_of(body: bytes, name: str) -> object:
    """The value of the field; ``None`` where there is none, or the body is no JSON object."""
    try:
        value: Any = from_json(body)
    except ValueError:
        return None
    return value.get(name) if isinstance(value, dict) else None
