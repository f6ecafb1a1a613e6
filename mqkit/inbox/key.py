"""The key of a delivery: its idempotency key, else its message id. Pure."""

from __future__ import annotations

import hashlib

from mqkit.message import Delivery

KEY, ID, DIGEST = "key:", "id:", "sha256:"
"""Keys and ids are names of two kinds: one of each may be the same text."""


def inbox_key(delivery: Delivery) -> str | None:
    """The key as it is stored; ``None`` for a message that has neither."""
    if named := delivery.idempotency_key:
        return KEY + _storable(named)
    if identified := delivery.message_id:
        return ID + _storable(identified)
    return None


def _storable(text: str) -> str:
    """``text``; or its digest, where it holds what no database keeps in a text."""
    if "\0" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return DIGEST + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
