"""A parked message as a condition asks about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mqkit.lots.parked_time import age_ms, bare
from mqkit.lots.where.evaluation import MISSING
from mqkit.retry.parked import ParkedMessage


class FactsOf:
    """:class:`mqkit.lots.where.evaluation.Facts` of a message. Its body is read as JSON when a
    condition asks for it, and once."""

    def __init__(self, message: ParkedMessage, now: datetime) -> None:
        self._message = message
        self._now = now
        self._body: Any = None
        self._is_read = False

    def value(self, name: str) -> Any:
        """The value that a condition starts from, or ``MISSING``."""
        match name:
            case "body":
                return self._json()
            case "header":
                return _bared(self._message.delivery.headers)
            case "reason":
                return self._message.reason
            case "error":
                parts = (self._message.error_type, self._message.error_message)
                return ": ".join(part for part in parts if part)
            case "attempts":
                return self._message.attempts
        age = age_ms(self._message.delivery.headers, self._now)
        return MISSING if age is None else age

    def _json(self) -> Any:
        if not self._is_read:
            self._is_read = True
            self._body = json_of(self._message.delivery.body)
        return self._body


def json_of(body: bytes) -> Any:
    """The JSON value of a body, or ``MISSING`` for a body that is no JSON of RFC 8259 (NaN and its
    kind are none), or nested deeper than Python reads."""
    try:
        return json.loads(body.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return MISSING


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _bared(value: Any) -> Any:
    """Tables and lists without the tags of their values."""
    value = bare(value)
    if isinstance(value, Mapping):
        return {name: _bared(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_bared(each) for each in value]
    return value
