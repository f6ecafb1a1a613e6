"""Arguments of a queue that say where its messages go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def target_of(arguments: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """The dead-letter exchange and key in ``arguments``; no key is the message's own."""
    exchange = arguments.get("x-dead-letter-exchange")
    key = arguments.get("x-dead-letter-routing-key")
    if not isinstance(exchange, str):
        return None
    return exchange, key if isinstance(key, str) else None
