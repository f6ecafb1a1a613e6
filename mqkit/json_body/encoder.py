"""Values as JSON bodies."""

from __future__ import annotations

import json

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json


def encode_json(body: object) -> bytes:
    """``body`` as JSON that every parser takes. Raises :exc:`ValueError` for what JSON has not."""
    try:
        if isinstance(body, BaseModel):
            return _parseable(body.model_dump_json().encode())
        return _parseable(to_json(body))
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from None


def _parseable(text: bytes) -> bytes:
    """``text``, if it has no NaN and no Infinity outside of its strings: pydantic writes them as
    Python has them, and JSON has no such numbers (RFC 8259 section 6)."""
    if b"NaN" in text or b"Infinity" in text:
        json.loads(text, parse_constant=_refuse)
    return text


def _refuse(constant: str) -> None:
    raise ValueError(f"it holds {constant}, which no JSON parser has to take")
