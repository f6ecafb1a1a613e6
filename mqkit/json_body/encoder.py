"""Values as JSON bodies."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json


def encode_json(body: object) -> bytes:
    """``body`` as JSON that every parser takes. Raises :exc:`ValueError` for what JSON has not."""
    try:
        if isinstance(body, BaseModel):
            text = body.model_dump_json().encode()
            if b"null" in text and "ser_json_inf_nan" not in body.model_config:
                _require_finite(body.model_dump())
            return _parseable(text)
        return _parseable(to_json(body))
    except PydanticSerializationError as error:
        raise ValueError(str(error)) from None


def _parseable(text: bytes) -> bytes:
    """``text``, if it has no NaN and no Infinity outside of its strings: pydantic writes them as
    Python has them, and JSON has no such numbers (RFC 8259 section 6)."""
    if b"NaN" in text or b"Infinity" in text:
        json.loads(text, parse_constant=_refuse)
    return text


def _require_finite(value: object) -> None:
    """In models pydantic writes NaN and Infinity as ``null``, if their configuration does not say
    so itself: the number would be gone, and the reader of the message would be the first to see."""
    match value:
        case float():
            if not math.isfinite(value):
                _refuse(str(value))
        case Mapping():
            for each in value.values():
                _require_finite(each)
        case list() | tuple() | set() | frozenset():
            for each in value:
                _require_finite(each)


def _refuse(constant: str) -> None:
    raise ValueError(f"it holds {constant}, which no JSON parser has to take")
